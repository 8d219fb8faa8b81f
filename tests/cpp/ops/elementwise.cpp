// Tests elementwise: bytes, validity, the reference against plain loops, and its bounds against
// arithmetic in float.
#include "deepbench/ops/elementwise/elementwise.hpp"

#include <doctest/doctest.h>

#include <string>

#include "../mutants/outputs.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "naive_elementwise.hpp"
#include "worst_error.hpp"

namespace deepbench {
namespace {

double bytes_of(const std::string& line) {
  const Problem problem = Problem::parse(line);
  CHECK(problem.operation().work(problem).flops == 0);
  return problem.operation().work(problem).bytes;
}

TEST_CASE("elementwise: three arrays move, or two and the tables of rotary") {
  CHECK(bytes_of("elementwise kind=add rows=10 columns=100 precision=bfloat16") == 6000);
  CHECK(bytes_of("elementwise kind=multiply rows=10 columns=100") == 12000);
  CHECK(bytes_of("elementwise kind=swiglu rows=10 columns=100") == 12000);
  CHECK(bytes_of("elementwise kind=rotary rows=10 columns=96 dim=32") == 4 * (2 * 960 + 10 * 32));
}

TEST_CASE("elementwise: bad input is invalid, and other programs' words are understood") {
  for (const char* const line :
       {"elementwise rows=1 columns=4", "elementwise kind=add rows=0 columns=4",
        "elementwise kind=add columns=4", "elementwise kind=add rows=1 columns=-4",
        "elementwise kind=add rows=1000000000000 columns=1000000000000",
        "elementwise kind=divide rows=1 columns=4",
        "elementwise kind=add rows=1 columns=4 precision=fp8_e4m3",
        "elementwise kind=add rows=1 columns=4 dim=2", "elementwise kind=rotary rows=1 columns=4",
        "elementwise kind=rotary rows=1 columns=9 dim=3",
        "elementwise kind=rotary rows=1 columns=4 dim=0"}) {
    CAPTURE(line);
    CHECK_THROWS_AS(Problem::parse(line), InvalidProblem);
  }
  CHECK(Problem::parse("elementwise kind=mul rows=1 columns=4").text("kind") == "multiply");
  CHECK(Problem::parse("elementwise kind=rope rows=1 columns=128").text("kind") == "rotary");
}

TEST_CASE("elementwise: its name alone stands for problems that are valid") {
  const std::vector<std::string> lines = find_operation("elementwise").default_problems({});
  CHECK(lines.size() == 5);
  for (const std::string& line : lines) CHECK_NOTHROW(Problem::parse(line));
}

TEST_CASE("elementwise: the reference is the definition, and float keeps within its bounds") {
  for (const std::string kind : {"add", "multiply", "swiglu", "rotary"})
    for (const std::string precision : {"float", "half", "bfloat16"}) {
      const std::string line = "elementwise kind=" + kind +
                               " rows=21 columns=240 precision=" + precision +
                               (kind == "rotary" ? " dim=48" : "");
      CAPTURE(line);
      const Problem problem = Problem::parse(line);
      const Elementwise elementwise = elementwise_problem(problem);
      const ExpectedOutput expected = problem.operation().expected_output(problem, {});
      REQUIRE(expected.indices.size() == 21 * 240);
      const std::vector<double> exact = testing::NaiveElementwise<double>(elementwise).output();
      CHECK(testing::largest_difference(expected.values, exact) < 1e-9);
      std::vector<double> stored = testing::NaiveElementwise<float>(elementwise).output();
      for (double& value : stored) value = testing::stored(elementwise.type(), value);
      CHECK(testing::worst_error(expected, stored) <= 1);
    }
}

}  // namespace
}  // namespace deepbench
