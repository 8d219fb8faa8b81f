// Tests softmax: bytes, validity, the reference against plain loops, and its bounds against
// arithmetic in float.
#include "deepbench/ops/softmax/softmax.hpp"

#include <doctest/doctest.h>

#include <string>

#include "../mutants/outputs.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "naive_rows.hpp"
#include "worst_error.hpp"

namespace deepbench {
namespace {

ExpectedOutput expectation(const std::string& line, const std::string& inputs = "uniform") {
  const Problem problem = Problem::parse(line);
  KernelConditions conditions;
  conditions.inputs = inputs;
  return problem.operation().expected_output(problem, conditions);
}

TEST_CASE("softmax: forward moves two arrays, the gradient three, and no operation counts") {
  const Problem forward = Problem::parse("softmax rows=10 columns=100 precision=half");
  CHECK(forward.operation().work(forward).bytes == 4000);
  CHECK(forward.operation().work(forward).flops == 0);
  const Problem gradient = Problem::parse("softmax rows=10 columns=100 phase=bwd");
  CHECK(gradient.operation().work(gradient).bytes == 12000);
}

TEST_CASE("softmax: bad input is invalid") {
  for (const char* const line :
       {"softmax rows=0 columns=3", "softmax rows=3 columns=-1", "softmax rows=3",
        "softmax rows=4294967296 columns=4294967296", "softmax rows=3 columns=3 precision=int8",
        "softmax rows=3 columns=3 precision=tf32", "softmax rows=3 columns=3 phase=bwd_data"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(Problem::parse(line), InvalidProblem);
  }
}

TEST_CASE("softmax: the precisions that remain keep their other spellings") {
  CHECK(Problem::parse("softmax rows=3 columns=3 precision=fp16").text("precision") == "half");
  CHECK(Problem::parse("softmax rows=3 columns=3 precision=bf16").text("precision") == "bfloat16");
}

TEST_CASE("softmax: its name alone stands for problems that are valid") {
  const std::vector<std::string> lines = find_operation("softmax").default_problems({});
  CHECK(lines.size() == 8);
  for (const std::string& line : lines) CHECK_NOTHROW(Problem::parse(line));
}

TEST_CASE("softmax: the reference is the definition, and float keeps within its bounds") {
  for (const std::string precision : {"float", "half", "bfloat16"})
    for (const std::string phase : {"fwd", "bwd"})
      for (const std::string shape :
           {"rows=7 columns=1", "rows=3 columns=33", "rows=2 columns=5000"}) {
        const std::string line = "softmax " + shape + " phase=" + phase + " precision=" + precision;
        CAPTURE(line);
        const Softmax softmax = softmax_problem(Problem::parse(line));
        for (const std::string inputs : {"uniform", "integers", "ones", "zeros"}) {
          CAPTURE(inputs);
          const ExpectedOutput expected = expectation(line, inputs);
          REQUIRE(expected.indices.size() == softmax.elements());
          const std::vector<double> exact = testing::NaiveSoftmax<double>{softmax}.output(inputs);
          CHECK(testing::largest_difference(expected.values, exact) < 1e-12);
          std::vector<double> stored = testing::NaiveSoftmax<float>{softmax}.output(inputs);
          for (double& value : stored) value = testing::stored(softmax.type(), value);
          CHECK(testing::worst_error(expected, stored) <= 1);
        }
      }
}

TEST_CASE("softmax: of integers a row's maxima share 1, and the rest is 0") {
  const ExpectedOutput expected = expectation("softmax rows=60 columns=1000", "integers");
  double maxima = 0;
  for (const double value : expected.values) {
    if (value < 1e-9) continue;
    maxima += 1;
    CHECK(1 / value == doctest::Approx(std::round(1 / value)).epsilon(1e-12));
  }
  CHECK(maxima / 60 > 6);
  CHECK(maxima / 60 < 10 + 3);  // rows without a 1 have many maxima
}

TEST_CASE("softmax: the sum of a long row is bounded so that a part of it is missed") {
  const Softmax softmax = softmax_problem(Problem::parse("softmax rows=2 columns=32000"));
  const std::vector<double> wrong =
      testing::NaiveSoftmax<double>{softmax, "a tail dropped"}.output("uniform");
  const ExpectedOutput expected = expectation("softmax rows=2 columns=32000");
  CHECK(testing::worst_error(expected, wrong) > 1000);
}

TEST_CASE("softmax: a kernel of 16 bits may state that it rounds the exponentials") {
  const auto permits = [](const std::string& attributes) {
    const Problem problem = Problem::parse("softmax rows=9 columns=9 " + attributes);
    return problem.operation().permits_condition(problem, "accumulator", "rounded_exponentials");
  };
  CHECK(permits("precision=bfloat16"));
  CHECK(permits("precision=half"));
  CHECK_FALSE(permits("precision=float"));
  CHECK_FALSE(permits("precision=bfloat16 phase=bwd"));
  KernelConditions rounded;
  rounded.accumulator = "rounded_exponentials";
  const Problem problem = Problem::parse("softmax rows=9 columns=9 precision=bfloat16");
  const double twice = problem.operation().expected_output(problem, rounded).bounds[0];
  const double once = problem.operation().expected_output(problem, {}).bounds[0];
  CHECK(twice / once > 1.9);
  CHECK(twice / once < 2.1);
}

TEST_CASE("softmax: a long row's verification needs memory for it") {
  const Problem small = Problem::parse("softmax rows=1000000 columns=100");
  const Problem wide = Problem::parse("softmax rows=1 columns=100000000");
  CHECK(small.operation().verification_bytes(small) < 1e7 * 16);
  CHECK(wide.operation().verification_bytes(wide) > 20e8);
}

}  // namespace
}  // namespace deepbench
