// Changes to a row that has been written leave the text of all other members as it is.
#include "deepbench/run/row/row_text.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "../../fake_backend.hpp"
#include "../../json.hpp"
#include "deepbench/run/row/row.hpp"

namespace deepbench {
namespace {

using testing::fake_row;
using testing::Json;
using testing::JsonReader;

TEST_CASE("a note is added behind the others") {
  CHECK(with_note(R"({"notes": []})", "a \"b\"") == R"({"notes": ["a \"b\""]})");
  CHECK(with_note(R"({"notes": ["x, y"], "n": 1e3})", "z") ==
        R"({"notes": ["x, y", "z"], "n": 1e3})");
}

TEST_CASE("only the member of the row itself is changed") {
  CHECK(with_note(R"({"a": {"notes": [1]}, "b": "\"notes\": [", "notes": [], "c": [[1, 2], {}]})",
                  "z") ==
        R"({"a": {"notes": [1]}, "b": "\"notes\": [", "notes": ["z"], "c": [[1, 2], {}]})");
}

TEST_CASE("figures replace those of the same name in a bound") {
  CHECK(with_bound_figures(R"({"bound": {"level": "l2", "by": null, "a\"b": {"by": 1}}, "by": 2})",
                           R"({"by": "l2", "share": 0.5})") ==
        R"({"bound": {"level": "l2", "a\"b": {"by": 1}, "by": "l2", "share": 0.5}, "by": 2})");
  CHECK(with_bound_figures(R"({"bound": {}})", R"({"by": null})") == R"({"bound": {"by": null}})");
  CHECK_THROWS_AS(with_bound_figures(R"({"notes": []})", "{}"), std::invalid_argument);
  CHECK_THROWS_AS(with_bound_figures(R"({"bound": null})", "{}"), std::invalid_argument);
}

TEST_CASE("a row of the core gets a note and keeps everything else") {
  const std::string row =
      fake_row("time 1000; emit describe_kernel note.a one", "gemm m=8 n=8 k=8", "ceilings=no")
          .to_json();
  const Json noted = JsonReader::read(with_note(row, "two"));
  REQUIRE(noted["notes"].items.size() == 2);
  CHECK(noted["notes"].items[0].text == "one");
  CHECK(noted["notes"].items[1].text == "two");
  CHECK(noted["samples_ns"].items.size() == JsonReader::read(row)["samples_ns"].items.size());
}

TEST_CASE("text without a list of notes is refused") {
  for (const char* text : {"", "[]", "{}", R"({"notes": null})", R"({"notes": [)", "row"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(with_note(text, "z"), std::invalid_argument);
  }
}

TEST_CASE("an even selection of the samples is kept") {
  CHECK(with_thinned_samples(
            R"({"samples_ns": [0.5, 1, 2, 3, 4], "samples_kept": "all", "x": [1, 2, 3]})", 2) ==
        R"({"samples_ns": [0.5, 2], "samples_kept": "thinned", "x": [1, 2, 3]})");
  CHECK(with_thinned_samples(R"({"samples_ns":[1,2,3]})", 1) ==
        R"({"samples_ns":[1], "samples_kept": "thinned"})");
}

TEST_CASE("a row with few samples stays as it is") {
  for (const char* text : {R"({"samples_ns": [1, 2], "samples_kept": "all"})",
                           R"({"samples_ns": null, "samples_kept": null})", R"({"samples_ns": []})",
                           R"({"op": "gemm"})"}) {
    CAPTURE(text);
    CHECK(with_thinned_samples(text, 2) == text);
  }
}

TEST_CASE("the selection is that of the writer of rows") {
  const std::string row = fake_row("time 2e6; noise 7 0.2", "gemm m=64 n=64 k=64").to_json();
  const std::string fewer = with_thinned_samples(row, 10);
  const Json all = JsonReader::read(row)["samples_ns"];
  const Json kept = JsonReader::read(fewer)["samples_ns"];
  REQUIRE(kept.items.size() == 10);
  for (size_t i = 0; i < 10; ++i)
    CHECK(kept.items[i].number == all.items[sample_index(i, 10, all.items.size())].number);
}

}  // namespace
}  // namespace deepbench
