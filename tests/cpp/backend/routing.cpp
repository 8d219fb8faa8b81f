// Routing: which library receives a problem and a candidate, and whose reason is reported.
#include "deepbench/backend/routing.hpp"

#include <doctest/doctest.h>

#include <deque>

#include "../named_values.hpp"

namespace deepbench::plugin {
namespace {

// Its plans take candidates that begin with its name and a dash, and refuse those that end in
// "-refused". Lists two candidates, or those of `ids`. Counts the problems that it plans, for
// itself and as a contender. Each list states that `listing_compiling_ns` of it was compilation.
class Library : public Implementation {
 public:
  explicit Library(std::string name, std::vector<std::string> ids = {"one", "two"})
      : name_(std::move(name)), ids_(std::move(ids)) {}

  LibraryFacts library() override { return {"1", "", ""}; }
  std::unique_ptr<Plan> plan(const Problem& problem, const Options&) override {
    ++planned;
    return plan_of(problem);
  }
  std::unique_ptr<Plan> plan_contender(const Problem& problem, const Options&) override {
    ++contended;
    return plan_of(problem);
  }

  int planned = 0, contended = 0;
  double listing_compiling_ns = 0;

 protected:
  virtual std::vector<std::string> ids() const { return ids_; }

 private:
  class NamedPlan final : public Plan {
   public:
    NamedPlan(const Library& library, std::string id) : library_(library), id_(std::move(id)) {}

    void describe(Sink& sink) const override { sink.text("library", library_.name_ + id_); }
    std::vector<std::string> candidates(int64_t) const override {
      std::vector<std::string> named;
      for (const std::string& id : library_.ids()) named.push_back(library_.name_ + "-" + id);
      return named;
    }
    double listing_compiling_ns() const override { return library_.listing_compiling_ns; }
    std::unique_ptr<Plan> with_candidate(const std::string& id) const override {
      if (id.rfind(library_.name_ + "-", 0) != 0) reject_candidate(library_.name_, id);
      if (id == library_.name_ + "-refused") unsupported(library_.name_ + " refuses");
      return std::make_unique<NamedPlan>(library_, "/" + id);
    }
    std::unique_ptr<Kernel> prepare() const override { return nullptr; }

   private:
    const Library& library_;
    const std::string id_;
  };

  std::unique_ptr<Plan> plan_of(const Problem& problem) const {
    if (problem.integer("m") == 2) unsupported(name_ + " refuses m=2");
    return std::make_unique<NamedPlan>(*this, "");
  }

  const std::string name_;
  const std::vector<std::string> ids_;
};

// A library that is not installed.
class Absent final : public Implementation {
 public:
  LibraryFacts library() override { return {"", "", "it was not found"}; }
  std::unique_ptr<Plan> plan(const Problem&, const Options&) override {
    failed("an absent library was asked");
  }
};

// A library whose list of candidates fails.
class FailsToListCandidates final : public Library {
 public:
  FailsToListCandidates() : Library("speechless") {}
  std::vector<std::string> ids() const override { failed("speechless fails"); }
};

Library& first_library() {
  static Library library("first");
  return library;
}
Implementation& first() { return first_library(); }
Implementation& second_library() {
  static Library library("second");
  return library;
}

Library& third_library() {
  static Library library("third");
  return library;
}
Implementation& third() { return third_library(); }

Implementation& library_with_four_candidates() {
  static Library library("longest", {"one", "two", "three", "four"});
  return library;
}
Implementation& library_that_cannot_list_candidates() {
  static FailsToListCandidates library;
  return library;
}
Implementation& absent_library() {
  static Absent library;
  return library;
}

const std::vector<Route> kRoutes = {{"gemm", "first", true, first},
                                    {"gemm", "second", true, second_library}};
const std::vector<Route> kCompeting = {{"gemm", "first", true, first, true},
                                       {"gemm", "second", true, second_library},
                                       {"gemm", "third", true, third, true}};
const std::vector<Route> kLong = {{"gemm", "longest", true, library_with_four_candidates, true},
                                  {"gemm", "third", true, third, true}};
const std::vector<Route> kAbsent = {{"gemm", "absent", true, absent_library},
                                    {"gemm", "first", true, first},
                                    {"gemm", "last", true, absent_library}};

const std::vector<Route> kFallback = {
    {"gemm", "absent", true, absent_library, true},
    {"gemm", "second", true, second_library},
    {"gemm", "speechless", true, library_that_cannot_list_candidates, true},
    {"gemm", "third", true, third, true}};

class TestBackend final : public RoutedBackend {
 public:
  explicit TestBackend(const std::vector<Route>& routes) : RoutedBackend("fake", routes) {}
  void describe(Sink&) override {}
  int32_t device_count() override { return 1; }
  void describe_device(int32_t, Sink&) override {}
};

// A backend that lives as long as the process, as plugins do: its plans refer to its routes.
TestBackend& backend_with(const std::vector<Route>& routes) {
  static std::deque<TestBackend> backends;
  return backends.emplace_back(routes);
}

std::unique_ptr<Plan> plan_with(const std::vector<Route>& routes, const std::string& library,
                                int m = 1) {
  const testing::NamedValues values("n=1 k=1 m=" + std::to_string(m));
  Options options;
  options.library = library;
  return backend_with(routes).plan(Problem({"gemm", values.get()}), options);
}

std::string description_text(const Plan& plan) {
  testing::Emitted emitted;
  Sink sink(emitted.sink());
  plan.describe(sink);
  return emitted.text("library");
}

// Returns the library and the candidate of the plan, or the status and the message.
std::string choice_among_routes(const std::vector<Route>& routes, const std::string& candidate,
                                const std::string& library = "", int m = 1) {
  try {
    const std::unique_ptr<Plan> plan = plan_with(routes, library, m);
    return description_text(candidate.empty() ? *plan : *plan->with_candidate(candidate));
  } catch (const Error& error) {
    return std::to_string(error.status()) + " " + error.what();
  }
}

std::string choice_among_default_routes(const std::string& candidate,
                                        const std::string& library = "") {
  return choice_among_routes(kRoutes, candidate, library);
}

using Ids = std::vector<std::string>;

Ids candidates_of(const std::vector<Route>& routes, const std::string& library = "") {
  return plan_with(routes, library)->candidates(0);
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
  // A library whose list of candidates fails does not affect the others.
  CHECK(candidates_of(kFallback) == ids);
}

TEST_CASE("routes: a candidate names its library, and the option library may name it too") {
  CHECK(choice_among_routes(kCompeting, "third:third-one") == "third/third-one");
  CHECK(choice_among_routes(kCompeting, "third-one", "third") == "third/third-one");
  CHECK(choice_among_routes(kCompeting, "first-one") == "first/first-one");
  CHECK(choice_among_routes(kCompeting, "third:third-one", "first") ==
        "2 first has no candidate 'third:third-one' for this problem");
  CHECK(choice_among_routes(kLong, "absent:one") ==
        "2 longest has no candidate 'absent:one' for this problem");
}

TEST_CASE("routes: each library plans a problem once, whatever is asked about its candidates") {
  for (Library* library : {&first_library(), &third_library()})
    library->planned = library->contended = 0;
  const std::unique_ptr<Plan> plan = plan_with(kCompeting, "");
  CHECK(first_library().planned == 1);
  CHECK(third_library().contended == 0);  // as long as nobody asks for the candidates
  plan->candidates(32);
  const std::unique_ptr<Plan> candidate = plan->with_candidate("third:third-two");
  candidate->with_candidate("first:first-two");
  candidate->with_candidate("third:third-one");
  candidate->candidates(0);
  CHECK(first_library().planned == 1);
  CHECK(first_library().contended == 0);
  CHECK(third_library().contended == 1);
  CHECK(third_library().planned == 0);
}

TEST_CASE("routes: a library that the options name is not planned as a contender") {
  third_library().planned = third_library().contended = 0;
  plan_with(kCompeting, "third")->candidates(0);
  CHECK(third_library().planned == 1);
  CHECK(third_library().contended == 0);
}

TEST_CASE("routes: what all libraries compiled while they listed is added up for each list") {
  const std::unique_ptr<Plan> plan = plan_with(kCompeting, "");
  first_library().listing_compiling_ns = 3, third_library().listing_compiling_ns = 4;
  plan->candidates(0);
  CHECK(plan->listing_compiling_ns() == 7);
  first_library().listing_compiling_ns = third_library().listing_compiling_ns = 0;
  plan->candidates(0);
  CHECK(plan->listing_compiling_ns() == 0);
}

TEST_CASE("routes: a plan outlives the problem that it was made for") {
  auto values = std::make_unique<testing::NamedValues>("m=1 n=1 k=1 name=text");
  const std::unique_ptr<Plan> plan =
      backend_with(kCompeting).plan(Problem({"gemm", values->get()}), Options());
  values.reset();
  CHECK(description_text(*plan->with_candidate("third:third-one")) == "third/third-one");
}

TEST_CASE("routes: the reason of the first library is reported") {
  CHECK(choice_among_default_routes("") == "first");
  CHECK(choice_among_default_routes("first-one") == "first/first-one");
  CHECK(choice_among_default_routes("first-refused") == "1 first refuses");
  CHECK(choice_among_routes(kRoutes, "", "", 2) == "1 first refuses m=2");
  CHECK(choice_among_routes(kRoutes, "", "second", 2) == "1 second refuses m=2");
}

TEST_CASE("routes: a refusal also reports the preferred libraries that are absent") {
  CHECK(choice_among_routes(kAbsent, "first-one") == "first/first-one");
  CHECK(choice_among_routes(kAbsent, "", "", 2) ==
        "1 first refuses m=2; not usable: absent: it was not found");
  CHECK(choice_among_routes(kAbsent, "", "absent") == "1 absent: it was not found");
}

TEST_CASE("routes: a candidate or a library that nobody knows is invalid") {
  CHECK(choice_among_default_routes("third-one") ==
        "2 first has no candidate 'third-one' for this problem");
  CHECK(choice_among_default_routes("second-one") ==
        "2 first has no candidate 'second-one' for this problem");
  CHECK(choice_among_default_routes("second-one", "second") == "second/second-one");
  CHECK(choice_among_default_routes("first-one", "third") ==
        "2 library=third: the fake backend has first second");
}

TEST_CASE("routes: a library of another operation is refused with those of this one") {
  const std::vector<Route> one = {{"gemm", "first", true, first}, {"rnn", "third", true, third}};
  CHECK(choice_among_routes(one, "", "third") ==
        "1 third does not support gemm in this backend; its library is first");
  const std::vector<Route> two = {{"gemm", "first", true, first},
                                  {"gemm", "second", true, second_library},
                                  {"rnn", "third", true, third}};
  CHECK(choice_among_routes(two, "", "third") ==
        "1 third does not support gemm in this backend; its libraries are first second");
}

TEST_CASE("routes: an unsupported precision comes with the supported ones") {
  const testing::NamedValues values("m=1 precision=half trans_a=n");
  const Problem problem({"gemm", values.get()});
  std::vector<std::string> asked;
  const auto working = [&](const Ids& works) {
    asked.clear();
    return plannable_precisions(problem, {"bfloat16", "half", "float"}, [&](const Problem& other) {
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
  CHECK(plannable_precisions(Problem({"memory", bytes.get()}), {"float"}, [](const Problem&) {}) ==
        "");
}

}  // namespace
}  // namespace deepbench::plugin
