// Routing: which library receives a problem and a candidate, and whose reason is reported.
#include "deepbench/backend/routing.hpp"

#include <doctest/doctest.h>

#include "../named_values.hpp"

namespace deepbench::plugin {
namespace {

// Accepts candidates that begin with its name and a dash, and refuses those that end in "-refused".
// Lists two candidates, or those of `ids`.
class Library : public Implementation {
 public:
  explicit Library(std::string name, std::vector<std::string> ids = {"one", "two"})
      : name_(std::move(name)), ids_(std::move(ids)) {}

  LibraryFacts library() override { return {"1", "", ""}; }
  void supports(const Problem&, const Options& options) override {
    const std::string& id = options.candidate;
    if (id.empty()) return;
    if (id.rfind(name_ + "-", 0) != 0) reject_candidate(name_, id);
    if (id == name_ + "-refused") unsupported(name_ + " refuses");
  }
  uint64_t memory_needed(const Problem&, const Options&) override { return 0; }
  std::vector<std::string> candidates(const Problem&, const Options&) override {
    std::vector<std::string> named;
    for (const std::string& id : ids_) named.push_back(name_ + "-" + id);
    return named;
  }
  std::unique_ptr<Kernel> prepare(const Problem&, const Options&) override { return nullptr; }

 private:
  std::string name_;
  std::vector<std::string> ids_;
};

// A library that is not installed.
class Absent final : public Implementation {
 public:
  LibraryFacts library() override { return {"", "", "it was not found"}; }
  void supports(const Problem&, const Options&) override {}
  uint64_t memory_needed(const Problem&, const Options&) override { return 0; }
  std::vector<std::string> candidates(const Problem&, const Options&) override { return {}; }
  std::unique_ptr<Kernel> prepare(const Problem&, const Options&) override { return nullptr; }
};

// A library whose candidates() fails.
class Speechless final : public Library {
 public:
  Speechless() : Library("speechless") {}
  std::vector<std::string> candidates(const Problem&, const Options&) override {
    failed("speechless fails");
  }
};

Implementation& first() {
  static Library library("first");
  return library;
}
Implementation& second() {
  static Library library("second");
  return library;
}

Implementation& third() {
  static Library library("third");
  return library;
}

Implementation& longest() {
  static Library library("longest", {"one", "two", "three", "four"});
  return library;
}
Implementation& speechless() {
  static Speechless library;
  return library;
}
Implementation& absent() {
  static Absent library;
  return library;
}

constexpr Route kRoutes[] = {{"gemm", "first", true, first}, {"gemm", "second", true, second}};
constexpr Route kCompeting[] = {{"gemm", "first", true, first, true},
                                {"gemm", "second", true, second},
                                {"gemm", "third", true, third, true}};
constexpr Route kLong[] = {{"gemm", "longest", true, longest, true},
                           {"gemm", "third", true, third, true}};
constexpr Route kAbsent[] = {{"gemm", "absent", true, absent},
                             {"gemm", "first", true, first},
                             {"gemm", "last", true, absent}};

constexpr Route kFallback[] = {{"gemm", "absent", true, absent, true},
                               {"gemm", "second", true, second},
                               {"gemm", "speechless", true, speechless, true},
                               {"gemm", "third", true, third, true}};

// Returns "ok", or the status and the message.
template <class Routes>
std::string chosen_of(const Routes& routes, const std::string& candidate,
                      const std::string& library = "") {
  const testing::NamedValues values("m=1 n=1 k=1");
  const deepbench_problem raw = {"gemm", values.get()};
  Options options;
  options.candidate = candidate, options.library = library;
  try {
    const RouteSelection choice("fake", routes, Problem(raw), options);
    return "ok";
  } catch (const Error& error) {
    return std::to_string(error.status()) + " " + error.what();
  }
}

std::string chosen(const std::string& candidate, const std::string& library = "") {
  return chosen_of(kRoutes, candidate, library);
}

using Ids = std::vector<std::string>;

template <class Routes>
Ids candidates_of(const Routes& routes, const std::string& library = "") {
  const testing::NamedValues values("m=1 n=1 k=1");
  const deepbench_problem raw = {"gemm", values.get()};
  Options options;
  options.library = library;
  const Problem problem(raw);
  return RouteSelection("fake", routes, problem, options).candidates();
}

TEST_CASE(
    "routes: candidates of competing libraries alternate, and those of others are not listed") {
  CHECK(candidates_of(kRoutes) == Ids{"first-one", "first-two"});
  CHECK(candidates_of(kCompeting) ==
        Ids{"first:first-one", "third:third-one", "first:first-two", "third:third-two"});
  CHECK(candidates_of(kLong) == Ids{"longest:longest-one", "third:third-one", "longest:longest-two",
                                    "third:third-two", "longest:longest-three",
                                    "longest:longest-four"});
  CHECK(candidates_of(kCompeting, "third") == Ids{"third-one", "third-two"});
  CHECK(candidates_of(kCompeting, "second") == Ids{"second-one", "second-two"});
}

TEST_CASE("routes: candidates begin with the chosen library's, even if it does not compete") {
  const Ids ids = {"second:second-one", "third:third-one", "second:second-two", "third:third-two"};
  // A library whose candidates() fails does not affect the others.
  CHECK(candidates_of(kFallback) == ids);
}

TEST_CASE("routes: a candidate names its library, and the option library may name it too") {
  CHECK(chosen_of(kCompeting, "third:third-one") == "ok");
  CHECK(chosen_of(kCompeting, "third:third-one", "third") == "ok");
  CHECK(chosen_of(kCompeting, "third:third-one", "first") ==
        "2 library=first has no candidate 'third:third-one', which is one of third");
}

TEST_CASE("routes: the refusal of a known candidate by the first library is reported") {
  CHECK(chosen("") == "ok");
  CHECK(chosen("first-one") == "ok");
  CHECK(chosen("first-refused") == "1 first refuses");
  CHECK(chosen("first-refused", "first") == "1 first refuses");
}

TEST_CASE("routes: a refusal also reports the preferred libraries that are absent") {
  CHECK(chosen_of(kAbsent, "first-one") == "ok");
  CHECK(chosen_of(kAbsent, "first-refused") ==
        "1 first refuses; not usable: absent: it was not found");
}

TEST_CASE("routes: a candidate that no library knows is invalid") {
  CHECK(chosen("third-one") == "2 first has no candidate 'third-one' for this problem");
  CHECK(chosen("second-one") == "2 first has no candidate 'second-one' for this problem");
  CHECK(chosen("second-one", "second") == "ok");
  CHECK(chosen("first-one", "third").rfind("2 library=third", 0) == 0);
}

TEST_CASE("routes: an unsupported precision comes with the supported ones") {
  const testing::NamedValues values("m=1 precision=half trans_a=n");
  const Problem problem({"gemm", values.get()});
  std::vector<std::string> asked;
  const auto working = [&](const Ids& works) {
    asked.clear();
    return working_precisions(problem, {"bfloat16", "half", "float"}, [&](const Problem& other) {
      const std::string precision = other.text("precision");
      asked.push_back(precision + " " + std::to_string(other.integer("m")) + other.text("trans_a"));
      if (std::find(works.begin(), works.end(), precision) == works.end())
        unsupported("no " + precision);
    });
  };
  CHECK(working({"bfloat16", "float"}) == "; bfloat16 and float work here");
  CHECK(asked == Ids{"bfloat16 1n", "float 1n"});
  CHECK(working({"float", "half"}) == "; float works here");
  CHECK(working({}) == "");
  CHECK(problem.text("precision") == "half");
  const testing::NamedValues bytes("bytes=8");
  CHECK(working_precisions(Problem({"memory", bytes.get()}), {"float"}, [](const Problem&) {}) ==
        "");
}

}  // namespace
}  // namespace deepbench::plugin
