// Rows as JSON: always one line, always valid, always every key of docs/reference/rows.md.
#include "deepbench/run/row/row.hpp"

#include <doctest/doctest.h>

#include <array>
#include <random>

#include "../../fake_backend.hpp"
#include "../../json.hpp"
#include "deepbench/run/row/assemble.hpp"
#include "deepbench/run/row/json_writer.hpp"

namespace deepbench {
namespace {

using testing::fake_row;
using testing::Json;
using testing::JsonReader;

constexpr const char* kProblem = "gemm m=64 n=64 k=64";

Json parse_row_json(const Row& row) {
  const std::string text = row.to_json();
  CHECK(text.find('\n') == std::string::npos);
  return JsonReader::read(text);
}

void check_keys(const Json& row) {
  for (const char* key :
       {"type",     "position",   "problem",    "op",           "attributes",    "application",
        "backend",  "device",     "library",    "algorithm",    "status",        "reason",
        "regime",   "statistics", "samples_ns", "samples_kept", "first_call_ns", "host_ns",
        "started",  "clocks_mhz", "rests_ns",   "work",         "rates",         "bound",
        "metrics",  "padding",    "conversion", "verification", "observed",      "notes",
        "stages_ns"}) {
    CAPTURE(key);
    CHECK(row.has(key));
  }
  CHECK(row["type"].text == "row");
  for (const char* key : {"mode", "name", "candidates", "workspace_bytes", "planning_ns",
                          "default_ns", "default_name", "default_candidate", "speedup"})
    CHECK(row["algorithm"].has(key));
  for (const char* key :
       {"cache", "cold", "copies", "fits_cache", "launch", "timer", "power", "threads"})
    CHECK(row["regime"].has(key));
  for (const char* key : {"level", "arithmetic", "bandwidth", "latency"})
    CHECK(row["bound"].has(key));
  CHECK(row["bound"].members.size() == 4);  // figures and shares follow from ceilings
  for (const char* key :
       {"status", "scope", "checked", "outputs", "max_error_ratio", "max_error_check", "reason"})
    CHECK(row["verification"].has(key));
  for (const char* key : {"prepare", "verify", "measure", "ceilings", "other"})
    CHECK(row["stages_ns"].has(key));
}

TEST_CASE("a row that is ok has every figure") {
  // Ceilings are measured with the model's times: with this one, with ever larger products.
  const Json row = parse_row_json(fake_row("when m=64 time 1000",
                                           std::string(kProblem) + " application=\"A \\\"b\\\"\"",
                                           "position=12"));
  check_keys(row);
  CHECK(row["position"].number == 12);
  CHECK(row["problem"].text == "gemm m=64 n=64 k=64 trans_a=n trans_b=n precision=float");
  CHECK(row["op"].text == "gemm");
  CHECK(row["attributes"]["m"].number == 64);
  CHECK(row["attributes"]["precision"].text == "float");
  CHECK(row["application"].text == "A \"b\"");
  CHECK(row["backend"].text == "fake");
  CHECK(row["device"]["index"].number == 0);
  CHECK(row["device"]["name"].text == "Fake device 0");
  CHECK(row["status"].text == "ok");
  CHECK(row["reason"].is_null());
  const Json& statistics = row["statistics"];
  for (const char* key : {"median_ns", "min_ns", "max_ns", "q1_ns", "q3_ns", "p99_ns", "mean_ns",
                          "low_ns", "high_ns"})
    CHECK(statistics[key].number == 1000);
  CHECK(statistics["stdev_ns"].number == 0);
  CHECK(statistics["mad_ns"].number == 0);
  CHECK(statistics["n"].number == 100);
  CHECK(statistics["batch"].number == 200);
  CHECK_FALSE(statistics.has("batches_per_sample"));
  CHECK_FALSE(row["regime"].has("schedule_perturbed"));
  CHECK(statistics["stop"].text == "converged");
  CHECK(statistics["relative_standard_error"].number == doctest::Approx(5e-6));
  CHECK(row["samples_ns"].items.size() == 100);
  CHECK(row["samples_kept"].text == "all");
  CHECK(row["first_call_ns"].number == 1000);
  CHECK(row["host_ns"].number == 1000);
  CHECK(row["work"]["flops"].number == 524288);
  CHECK(row["work"]["bytes"].number == 65536);
  CHECK(row["rates"]["tflops"].number == doctest::Approx(0.524288));
  CHECK(row["rates"]["gbps"].number == doctest::Approx(65.536));
  CHECK(row["verification"]["status"].text == "passed");
  CHECK(row["verification"]["checked"].number == 4096);
  CHECK(row["regime"]["fits_cache"].truth);
  CHECK(row["regime"]["launch"].text == "stream");
  CHECK(row["regime"]["timer"].text == "scripted");
}

TEST_CASE("a row whose schedule was perturbed says so, and how many batches one is the mean of") {
  const Json row = parse_row_json(
      fake_row("time 20e3 22e3 20e3 20e3 22e3; emit describe_kernel schedule_sensitive 1", kProblem,
               "ceilings=no"));
  check_keys(row);
  CHECK(row["regime"]["schedule_perturbed"].truth);
  CHECK(row["statistics"]["batches_per_sample"].number == 12);
  CHECK(row["statistics"]["batch"].number == 10);
}

TEST_CASE("rows that end otherwise have every key, too") {
  for (const auto& [script, status] : std::vector<std::pair<std::string, std::string>>{
           {"fail plan unsupported not here", "unsupported"},
           {"fail prepare invalid no", "invalid"},
           {"fail prepare out_of_memory no", "out_of_memory"},
           {"mutant last_k", "incorrect"},
           {"from 30 mutant last_k", "incorrect"},
           {"fail time_batch device_lost no", "device_lost"},
           {"answer elapsed_ns nan", "failed"},
       }) {
    CAPTURE(script);
    const Json row = parse_row_json(fake_row(script, kProblem));
    check_keys(row);
    CHECK(row["status"].text == status);
    CHECK(row["reason"].text.size() > 1);
    CHECK(row["rates"].is_null());
    CHECK(row["problem"].text == "gemm m=64 n=64 k=64 trans_a=n trans_b=n precision=float");
  }
}

TEST_CASE("a line that is no problem is a row, with what was asked") {
  for (const auto& [line, problem, reason] : std::vector<std::array<std::string, 3>>{
           {"gemm m=0 n=1 k=1", "gemm m=0 n=1 k=1", "m=0: must be at least 1"},
           {"  gemm m=1  ; seed=2", "  gemm m=1",
            "gemm needs n=; for example: gemm m=1760 n=128 k=1760 trans_a=n trans_b=n "
            "precision=float"},
           {"gemm m=1 n=1 k=1 ; sead=2", "gemm m=1 n=1 k=1", ""},
           {"\xff\xfe\x01", "\xef\xbf\xbd\xef\xbf\xbd\x01", ""},
       }) {
    const Json row = parse_row_json(fake_row("", line));
    check_keys(row);
    CHECK(row["status"].text == "invalid");
    CHECK(row["problem"].text == problem);
    if (!reason.empty()) CHECK(row["reason"].text == reason);
    CHECK(row["statistics"].is_null());
    CHECK(row["samples_ns"].is_null());
  }
}

TEST_CASE("a row that no backend answered has every key, and null for every result") {
  FailedRow failed{7, Problem::parse("gemm m=2 n=3 k=4 application=A"), {}, {}, {}, {}, {}, {}};
  failed.backend = "fake";
  failed.status = Status::kOutOfMemory;
  failed.reason = "killed";
  failed.worker = "killed";
  const Json row = parse_row_json(assemble(failed));
  for (const auto& [key, value] : parse_row_json(fake_row("time 1000", kProblem)).members) {
    CAPTURE(key);
    CHECK(row.has(key));
  }
  CHECK(row["position"].number == 7);
  CHECK(row["problem"].text == "gemm m=2 n=3 k=4 trans_a=n trans_b=n precision=float");
  CHECK(row["application"].text == "A");
  CHECK(row["device"]["index"].is_null());
  CHECK(row["status"].text == "out_of_memory");
  CHECK(row["reason"].text == "killed");
  CHECK(row["work"]["flops"].number == 48);
  CHECK(row["observed"]["worker"].text == "killed");
  for (const char* key : {"algorithm", "regime", "statistics", "samples_ns", "rates", "bound",
                          "verification", "stages_ns"}) {
    CAPTURE(key);
    CHECK(row[key].is_null());
  }
}

TEST_CASE("every status is found by its name") {
  for (int i = 0; i <= static_cast<int>(Status::kFailed); ++i)
    CHECK(status_named(name_of(static_cast<Status>(i))) == static_cast<Status>(i));
  CHECK_THROWS_WITH(status_named("broken"), "no status is called 'broken'");
}

TEST_CASE("random lines are rows of valid JSON") {
  testing::fake_backend("time 1000");
  Runner runner(testing::plugin_path("fake"), "ceilings=no verify=no samples=1");
  std::mt19937 random(5);
  const std::string seeds[] = {"gemm m=16 n=16 k=16 application=\"a \\\" b\" ; seed=3",
                               "memory kind=copy bytes=4096 ; cache=cold position=4"};
  for (int i = 0; i < 2000; ++i) {
    std::string line = seeds[i % 2];
    for (size_t edits = 1 + random() % 4; edits; --edits)
      line[random() % line.size()] = static_cast<char>(random() % 256);
    CHECK(parse_row_json(runner.run(line, i)).has("status"));
  }
}

// Two calls and twenty batches of the warm-up come before the samples.
TEST_CASE("the clocks of at most twenty batches stand in their order") {
  const auto clocks = [](const std::string& mhz, const std::string& samples) {
    const Json row = parse_row_json(fake_row("time 2e6; mhz 1500*22 " + mhz + " hold", kProblem,
                                             "ceilings=no samples=" + samples));
    return row["clocks_mhz"].items;
  };
  const std::vector<Json> all = clocks("1499 1498*18 1497", "20");
  REQUIRE(all.size() == 20);
  CHECK(all.front().number == 1499);
  CHECK(all[1].number == 1498);
  CHECK(all.back().number == 1497);
  const std::vector<Json> half = clocks("1499 1498*38 1497", "40");
  REQUIRE(half.size() == 20);
  CHECK(half.front().number == 1499);
  CHECK(half.back().number == 1498);  // the last but one of forty
}

TEST_CASE("the rests before at most twenty batches stand in their order, if there are any") {
  const std::string device = "emit describe_device most_clock_mhz 2000; time 1e6; host 1e6;";
  const auto rests = [&](const std::string& mhz, const std::string& samples) {
    const Json row =
        parse_row_json(fake_row(device + "mhz " + mhz, kProblem, "ceilings=no samples=" + samples));
    return row["rests_ns"].items;
  };
  const std::vector<Json> late = rests("1990*24 1500 hold", "5");
  REQUIRE(late.size() == 5);
  CHECK(late.front().number == 0);
  CHECK(late.back().number == 500e3);
  CHECK(rests("1500", "45").size() == 20);
  CHECK(rests("1990", "5").empty());
}

TEST_CASE("the samples behind a time of another measurement are at most twenty, of all of them") {
  const auto samples = [](const Json& part, const std::string& name) {
    std::vector<double> numbers;
    for (const Json& one : part[name].items) numbers.push_back(one.number);
    return numbers;
  };
  Row result = fake_row("time 1000", kProblem, "ceilings=no samples=1");
  result.conversion = Conversion{"a", 7.25, true, {9, 7.25, 7}};
  result.metrics = {{"dense_time", "us", "lower", 1, std::vector<double>(45, 1000)},
                    {"speedup", "x", "higher", 2}};
  result.algorithm.default_samples_ns = {4, 5};
  Json row = parse_row_json(result);
  CHECK(samples(row["conversion"], "samples_ns") == std::vector<double>{9, 7.25, 7});
  CHECK(samples(row["metrics"].items[0], "samples_ns") == std::vector<double>(20, 1000));
  CHECK_FALSE(row["metrics"].items[1].has("samples_ns"));
  CHECK(samples(row["algorithm"], "default_samples_ns") == std::vector<double>{4, 5});
  result.conversion->samples_ns.clear();
  result.algorithm.default_samples_ns.clear();
  row = parse_row_json(result);
  CHECK_FALSE(row["conversion"].has("samples_ns"));
  CHECK_FALSE(row["algorithm"].has("default_samples_ns"));
}

TEST_CASE("many samples are thinned evenly, and said so") {
  const Row result = fake_row("time 2e6; noise 7 0.2", kProblem);
  REQUIRE(result.samples);
  REQUIRE(result.samples->per_call_ns.size() > 1000);
  const Json row = parse_row_json(result);
  CHECK(row["statistics"]["n"].number == double(result.samples->per_call_ns.size()));
  CHECK(row["samples_ns"].items.size() <= 1000);
  CHECK(row["samples_ns"].items.size() >= 100);
  CHECK(row["samples_kept"].text == "thinned");
  CHECK(row["samples_ns"].items[0].number ==
        doctest::Approx(result.samples->per_call_ns[0]).epsilon(1e-9));
}

TEST_CASE("an unknown error is null, not infinity") {
  const Json row = parse_row_json(fake_row("time 1000", kProblem, "ceilings=no samples=1"));
  CHECK(row["statistics"]["n"].number == 1);
  CHECK(row["statistics"]["relative_standard_error"].is_null());
  CHECK(row["statistics"]["stop"].text == "too_few");
}

TEST_CASE("whatever a plugin says is written as JSON") {
  const Json row = parse_row_json(fake_row(
      "emit describe_kernel note.a quote \" backslash \\ tab\there \x01 \x7f;"
      "emit describe_kernel note.b latin1 \xe9 utf8 \xc3\xa9 \xe2\x82\xac overlong \xc0\xaf;"
      "emit describe_kernel algorithm na\"me; emit observe big 1e300",
      kProblem));
  check_keys(row);
  REQUIRE(row["notes"].items.size() == 2);
  CHECK(row["notes"].items[0].text == "quote \" backslash \\ tab here \xef\xbf\xbd \xef\xbf\xbd");
  CHECK(row["notes"].items[1].text ==
        "latin1 \xef\xbf\xbd utf8 \xc3\xa9 \xe2\x82\xac overlong \xef\xbf\xbd\xef\xbf\xbd");
  CHECK(row["algorithm"]["name"].text == "na\"me");
  CHECK(row["observed"]["big"].number == 1e300);
}

TEST_CASE("control characters are escaped") {
  JsonWriter json;
  json.begin_object().member("text", "tab\there \x01 \x7f\n").end_object();
  CHECK(json.str().find("\\u0001") != std::string::npos);
  CHECK(JsonReader::read(json.str())["text"].text == "tab\there \x01 \x7f\n");
  JsonWriter of_two_and_three_bytes;
  of_two_and_three_bytes.value(std::string_view("\xc2\x9b \xe2\x80\xae \xc3\xa9 \xe2\x82\xac"));
  CHECK(of_two_and_three_bytes.str() == "\"\\u009b \\u202e \xc3\xa9 \xe2\x82\xac\"");
}

TEST_CASE("host time of the stages is told, and none of it is negative") {
  const Json row = parse_row_json(fake_row("", kProblem, ""));
  for (const char* stage : {"prepare", "verify", "measure", "ceilings", "other"})
    CHECK(row["stages_ns"][stage].number >= 0);
  CHECK(row["stages_ns"]["device"].number > 0);
}

}  // namespace
}  // namespace deepbench
