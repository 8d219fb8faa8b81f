// Tests axpy: work, validity and the reference.
#include "deepbench/ops/axpy/axpy.hpp"

#include <doctest/doctest.h>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

ExpectedOutput expectation(const std::string& line, const KernelConditions& conditions = {}) {
  const Problem problem = Problem::parse(line);
  return problem.operation().expected_output(problem, conditions);
}

TEST_CASE("axpy: two operations per element; x is read, y read and written") {
  const Problem problem = Problem::parse("axpy n=1000 precision=half");
  CHECK(problem.operation().work(problem).flops == 2000);
  CHECK(problem.operation().work(problem).bytes == 6000);
}

TEST_CASE("axpy: a vector that no memory can hold is invalid") {
  CHECK_THROWS_AS(Problem::parse("axpy n=4611686018427387904"), InvalidProblem);
  CHECK_THROWS_AS(Problem::parse("axpy n=0"), InvalidProblem);
}

TEST_CASE("axpy: the reference adds half of x to y, and samples the first and last element") {
  KernelConditions ones;
  ones.inputs = "ones";
  const ExpectedOutput all = expectation("axpy n=3", ones);
  CHECK(all.values == std::vector<double>{1.5, 1.5, 1.5});
  const ExpectedOutput sampled = expectation("axpy n=300000");
  CHECK(sampled.outputs == 300000);
  CHECK(sampled.indices.front() == 0);
  CHECK(sampled.indices.back() == 299999);
  const double x = deepbench_element(DEEPBENCH_F32, 1, Axpy::kStreamX, 0);
  const double y = deepbench_element(DEEPBENCH_F32, 1, Axpy::kStreamY, 0);
  CHECK(sampled.values.front() == 0.5 * x + y);
  CHECK(sampled.bounds.front() < 1e-6);
}

}  // namespace
}  // namespace deepbench
