// Tests lrn: work, validity and the reference.
#include "deepbench/ops/lrn/lrn.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "naive_pool.hpp"

namespace deepbench {
namespace {

ExpectedOutput expectation(const std::string& line) {
  const Problem problem = Problem::parse(line);
  return problem.operation().expected_output(problem, {});
}

TEST_CASE("lrn: the input and the output count once") {
  const Problem problem = Problem::parse("lrn n=2 c=3 h=9 w=8 precision=half");
  CHECK(problem.operation().work(problem).flops == 0);
  CHECK(problem.operation().work(problem).bytes == 2 * 2 * 2 * 3 * 9 * 8);
}

TEST_CASE("lrn: even sizes, and images that no memory can hold, are invalid") {
  CHECK_THROWS_WITH_AS(Problem::parse("lrn n=1 c=1 h=1 w=1 size=4"),
                       "size=4: must be odd, so that as many channels lie on either side",
                       InvalidProblem);
  for (const char* const text : {"lrn n=1 c=1 h=1 w=1 size=17", "lrn n=1 c=1 h=1 w=1 size=-1",
                                 "lrn n=1 c=1 h=0 w=1", "lrn n=1000000000 c=1000000000 h=9 w=9"})
    CHECK_THROWS_AS(Problem::parse(text), InvalidProblem);
}

TEST_CASE("lrn: the reference is that of plain loops, and large outputs are projected") {
  const std::string line = "lrn n=2 c=7 h=3 w=4 size=5";
  const std::vector<double> exact = testing::naive_lrn(lrn_problem(Problem::parse(line)), 1);
  const ExpectedOutput expected = expectation(line);
  REQUIRE(expected.values.size() == exact.size());
  for (size_t i = 0; i < exact.size(); ++i) {
    CHECK(std::abs(expected.values[i] - exact[i]) < 1e-14);
    CHECK(expected.bounds[i] < 1e-6);
  }
  const ExpectedOutput large = expectation("lrn n=20 c=16 h=16 w=16");
  CHECK(large.projections.size() == 16 * 16 * 16);
  CHECK(large.indices.front() == 0);
  CHECK(large.indices.back() == large.outputs - 1);
}

}  // namespace
}  // namespace deepbench
