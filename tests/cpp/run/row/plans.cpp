// How often a row asks the backend for a plan, and what happens to outputs that have numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "../../fake_backend.hpp"
#include "../../temporary_folder.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/plugin.hpp"
#include "deepbench/run/row/admit.hpp"

extern "C" const deepbench_backend* deepbench_plugin();

namespace deepbench::testing {
namespace {

const char* const kProblem = "gemm m=16 n=8 k=32";

// The lines of the fake backend's log that say for which candidate it planned, "" for its own
// choice, sorted.
std::vector<std::string> planned_candidates(const std::string& script, const std::string& options) {
  const TemporaryFolder folder;
  const Row row =
      fake_row("log " + (folder / "calls") + ";" + script, kProblem, "ceilings=no " + options);
  CHECK_MESSAGE(row.status == Status::kOk, row.reason);
  std::vector<std::string> candidates;
  for (const std::string& line : folder.lines("calls"))
    if (line.rfind("plan", 0) == 0) candidates.push_back(line.substr(4));
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

using Candidates = std::vector<std::string>;

TEST_CASE("a row plans its problem once") {
  CHECK(planned_candidates("time 1000", "") == Candidates{""});
  CHECK(planned_candidates("time 1000", "cache=cold") == Candidates{""});
  CHECK(planned_candidates("candidates a b; time 1000", "algorithm=b") ==
        Candidates{"", " candidate=b"});
}

TEST_CASE("a selection plans each candidate once, however often it is measured") {
  const std::string script =
      "candidates a b c; time 3000; when candidate=b time 1000; when candidate=c time 1100";
  CHECK(planned_candidates(script, "algorithm=exhaustive") ==
        Candidates{"", " candidate=b", " candidate=c"});
  // A busy machine leaves this selection time for fewer candidates.
  const Candidates planned = planned_candidates(script, "algorithm=best");
  CHECK(planned.front().empty());
  CHECK(std::adjacent_find(planned.begin(), planned.end()) == planned.end());
}

// The table of the CPU backend, which is linked in, with a count of plans for the reference.
class CountingBackend {
 public:
  CountingBackend() : table_(*deepbench_plugin()) {
    real_ = table_.plan, references_ = 0;
    table_.plan = plan;
  }
  Backend backend() const { return {&table_, ""}; }
  int references() const { return references_; }

 private:
  static deepbench_status plan(const deepbench_problem* problem, deepbench_values options,
                               deepbench_plan** out) {
    references_ += plugin::Options(options).library == "reference";
    return real_(problem, options, out);
  }
  inline static decltype(deepbench_backend::plan) real_ = nullptr;
  inline static int references_ = 0;
  deepbench_backend table_;
};

#if defined(DEEPBENCH_HAS_ONEDNN)  // no other library of the CPU runs recurrent layers
TEST_CASE("a row plans the reference of recurrent gradients once, also where trials prepare it") {
  const CountingBackend counting;
  const Backend backend = counting.backend();
  // Too large for gradients in float64.
  const Problem problem = Problem::parse(
      "rnn cell=lstm hidden=512 batch=64 timesteps=16 phase=bwd mode=training precision=float");
  REQUIRE(problem.operation().reference_source(problem) == ReferenceSource::kReferenceKernel);
  const auto admitted = admit({problem, RunOptions()}, {backend, {}});
  REQUIRE(std::holds_alternative<Plan>(admitted));
  const Plan& plan = std::get<Plan>(admitted);
  CHECK(counting.references() == 1);
  for (const char* const id : {"", "a", "b"})
    CHECK(plan.with_candidate(id).reference_plan(backend).memory_bytes() > 0);
  CHECK(counting.references() == 1);
}
#endif

TEST_CASE("a plan with another number of outputs than the operation has is refused") {
  const Row row = fake_row("emit describe_plan outputs 2", kProblem);
  CHECK(row.status == Status::kFailed);
  CHECK(row.reason ==
        "describe_plan: the backend gave an impossible answer: outputs=2, where gemm has 1");
}

}  // namespace
}  // namespace deepbench::testing
