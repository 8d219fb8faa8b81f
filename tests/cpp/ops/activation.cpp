// Tests activation: bytes, validity, the reference against plain loops, and its bounds against
// arithmetic in float.
#include "deepbench/ops/activation/activation.hpp"

#include <doctest/doctest.h>

#include <string>

#include "../mutants/outputs.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "naive_rows.hpp"
#include "worst_error.hpp"

namespace deepbench {
namespace {

ExpectedOutput expectation(const std::string& line) {
  const Problem problem = Problem::parse(line);
  return problem.operation().expected_output(problem, {});
}

TEST_CASE("activation: forward moves two arrays, the gradient three, and no operation counts") {
  const Problem forward = Problem::parse("activation elements=1000 precision=bfloat16");
  CHECK(forward.operation().work(forward).bytes == 4000);
  CHECK(forward.operation().work(forward).flops == 0);
  const Problem gradient = Problem::parse("activation kind=gelu elements=1000 phase=bwd");
  CHECK(gradient.operation().work(gradient).bytes == 12000);
}

TEST_CASE("activation: bad input is invalid, and swish is silu") {
  for (const char* const line :
       {"activation elements=0", "activation elements=-4", "activation kind=relu",
        "activation elements=4611686018427387904", "activation kind=elu elements=4",
        "activation elements=4 precision=fp8_e4m3"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(Problem::parse(line), InvalidProblem);
  }
  CHECK(Problem::parse("activation kind=swish elements=4").text("kind") == "silu");
}

TEST_CASE("activation: its name alone stands for problems that are valid") {
  const std::vector<std::string> lines = find_operation("activation").default_problems({});
  CHECK(lines.size() == 10);
  for (const std::string& line : lines) CHECK_NOTHROW(Problem::parse(line));
}

TEST_CASE("activation: the reference is the definition, and float keeps within its bounds") {
  for (const std::string kind : {"relu", "gelu", "silu", "sigmoid", "tanh"})
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string precision : {"float", "half", "bfloat16"}) {
        const std::string line =
            "activation elements=5001 kind=" + kind + " phase=" + phase + " precision=" + precision;
        CAPTURE(line);
        const Activation activation = activation_problem(Problem::parse(line));
        const ExpectedOutput expected = expectation(line);
        REQUIRE(expected.indices.size() == 5001);
        const std::vector<double> exact = testing::naive_activations<double>(activation);
        CHECK(testing::largest_difference(expected.values, exact) < 1e-9);
        std::vector<double> stored = testing::naive_activations<float>(activation);
        for (double& value : stored) value = testing::stored(activation.type(), value);
        CHECK(testing::worst_error(expected, stored) <= 1);
      }
}

TEST_CASE("activation: relu is exact in both phases") {
  for (const char* const phase : {"fwd", "bwd"})
    for (const double bound :
         expectation(std::string("activation elements=500 phase=") + phase).bounds)
      CHECK(bound == 0);
}

}  // namespace
}  // namespace deepbench
