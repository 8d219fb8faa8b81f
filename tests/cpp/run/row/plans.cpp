// How often a row asks the backend for a plan, and what happens to outputs that have numbers.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../../fake_backend.hpp"
#include "../../temporary_folder.hpp"

namespace deepbench::testing {
namespace {

const char* const kProblem = "gemm m=16 n=8 k=32";

// The lines of the fake backend's log that say for which candidate it planned, "" for its own
// choice, sorted.
std::vector<std::string> planned(const std::string& script, const std::string& options) {
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
  CHECK(planned("time 1000", "") == Candidates{""});
  CHECK(planned("time 1000", "cache=cold") == Candidates{""});
  CHECK(planned("candidates a b; time 1000", "algorithm=b") == Candidates{"", " candidate=b"});
}

TEST_CASE("a selection plans each candidate once, however often it is measured") {
  const std::string script =
      "candidates a b c; time 3000; when candidate=b time 1000; when candidate=c time 1100";
  for (const std::string algorithm : {"best", "exhaustive"})
    CHECK(planned(script, "algorithm=" + algorithm) ==
          Candidates{"", " candidate=b", " candidate=c"});
}

TEST_CASE("a plan with another number of outputs than the operation has is refused") {
  const Row row = fake_row("emit describe_plan outputs 2", kProblem);
  CHECK(row.status == Status::kFailed);
  CHECK(row.reason == "describe_plan: the backend answered nonsense: outputs=2, where gemm has 1");
}

}  // namespace
}  // namespace deepbench::testing
