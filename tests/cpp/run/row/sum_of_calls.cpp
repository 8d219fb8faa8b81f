// What several calls in place add up to: every rounding of the sum is permitted, half of the calls
// are not.
#include "deepbench/run/row/sum_of_calls.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

ExpectedOutput expected_output(const std::string& line, const std::string& inputs = "uniform",
                               double beta = 1) {
  const Problem problem = Problem::parse(line);
  KernelConditions conditions;
  conditions.inputs = inputs;
  conditions.beta = beta;
  conditions.facts.set("ranks", int64_t{4});
  return problem.operation().expected_output(problem, conditions);
}

std::vector<size_t> all_positions(const ExpectedOutput& expected) {
  std::vector<size_t> positions(expected.indices.size());
  std::iota(positions.begin(), positions.end(), size_t{0});
  return positions;
}

std::optional<SumOfCalls> sum_of(const ExpectedOutput& expected, uint64_t calls) {
  return sum_of_calls(expected, all_positions(expected), calls);
}

double stored(const std::string& precision, double value) {
  if (precision == "half") return deepbench_from_half(deepbench_to_half(float(value)));
  if (precision == "bfloat16") return deepbench_from_bfloat16(deepbench_to_bfloat16(float(value)));
  return precision == "float" ? double(float(value)) : value;
}

// What element `i` holds after so many calls, each of which is off as far as a single one may be.
double computed(const ExpectedOutput& expected, size_t i, uint64_t calls,
                const std::string& precision, double share_of_bound) {
  const double added = expected.values[i] - expected.initial_values[i];
  double value = expected.initial_values[i];
  for (uint64_t call = 0; call < calls; ++call)
    value = stored(precision, value + added + share_of_bound * expected.bounds[i]);
  return value;
}

TEST_CASE("sums of calls that are rounded each time lie within their bounds, half of them do not") {
  for (const std::string operation :
       {"gemm m=13 n=7 k=50", "sparse_gemm m=13 n=7 k=90 sparsity=0.5"}) {
    for (const std::string precision : {"float", "half", "bfloat16"}) {
      if (operation[0] == 's' && precision != "float") continue;
      const ExpectedOutput expected = expected_output(operation + " precision=" + precision);
      for (const uint64_t calls : {2, 3, 20, 60}) {
        CAPTURE(operation);
        CAPTURE(precision);
        CAPTURE(calls);
        const auto sum = sum_of(expected, calls);
        REQUIRE(sum);
        size_t wrong = 0, found = 0;
        for (size_t i = 0; i < expected.indices.size(); ++i) {
          const auto is_off = [&](uint64_t made, double share) {
            const double got = computed(expected, i, made, precision, share);
            return !(std::abs(got - sum->elements.values[i]) <= sum->elements.bounds[i]);
          };
          // A bound that has room for the rounding of the result is used up by less than that.
          for (const double share : {0.0, 0.2, -0.2}) wrong += is_off(calls, share);
          found += is_off(calls / 2, 0) && is_off(1, 0);
        }
        CHECK(wrong == 0);
        CHECK(found > 0);
      }
    }
  }
}

TEST_CASE("integers add up exactly") {
  const ExpectedOutput expected = expected_output("gemm m=5 n=3 k=64 precision=int8");
  const auto sum = sum_of(expected, 1000);
  REQUIRE(sum);
  for (size_t i = 0; i < expected.indices.size(); ++i) {
    CHECK(sum->elements.bounds[i] == 0);
    CHECK(sum->elements.values[i] ==
          expected.initial_values[i] + 1000 * (expected.values[i] - expected.initial_values[i]));
  }
  const ExpectedOutput exact = expected_output("gemm m=5 n=3 k=64 precision=half", "integers");
  const auto few = sum_of(exact, 4);
  REQUIRE(few);
  for (const double bound : few->elements.bounds) CHECK(bound == 0);
  CHECK_FALSE(sum_of(exact, 4000));  // beyond 2048, half stores not every integer
}

TEST_CASE("projections add up as their rows do") {
  const ExpectedOutput expected = expected_output("gemm m=301 n=257 k=240");
  REQUIRE(expected.projection_rows == 301);
  REQUIRE(expected.growth);
  const auto sum = sum_of(expected, 20);
  REQUIRE(sum);
  REQUIRE(sum->projections.size() == 301);
  size_t found = 0;
  for (size_t row = 0; row < 301; ++row) {
    const double first = expected.growth->initial_projections[row];
    const double added = expected.projections[row] - first;
    CHECK(sum->projections[row] == doctest::Approx(first + 20 * added));
    CHECK(sum->projection_bounds[row] >= 20 * expected.projection_bounds[row]);
    found += std::abs(10 * added) > sum->projection_bounds[row];
  }
  CHECK(found > 290);
}

TEST_CASE("nothing is expected where rounding could hide half of the calls") {
  const ExpectedOutput expected = expected_output("gemm m=13 n=7 k=50 precision=bfloat16");
  CHECK(sum_of(expected, 60));
  CHECK_FALSE(sum_of(expected, 1000));
  CHECK_FALSE(sum_of(expected_output("gemm m=13 n=7 k=50", "zeros"), 20));
}

TEST_CASE("nothing is expected where a value could leave the range of its type") {
  const ExpectedOutput half = expected_output("gemm m=5 n=3 k=4096 precision=half", "ones");
  CHECK(sum_of(half, 10));
  CHECK_FALSE(sum_of(half, 16));
  const ExpectedOutput integer = expected_output("gemm m=5 n=3 k=4096 precision=int8", "ones");
  CHECK(sum_of(integer, 500000));
  CHECK_FALSE(sum_of(integer, 530000));
}

TEST_CASE("operations whose calls do not add up in place say so") {
  const ExpectedOutput sums =
      expected_output("all_reduce elements=3000 in_place=yes precision=float");
  CHECK_FALSE(sums.growth);
  CHECK_FALSE(sum_of(sums, 2));
  CHECK_FALSE(expected_output("gemm m=5 n=3 k=64 precision=int8", "uniform", 0).growth);
}

TEST_CASE("gradients of the weights add up, those of the data beside them stay") {
  for (const std::string phase : {"bwd_weights", "bwd"}) {
    CAPTURE(phase);
    const ExpectedOutput first =
        expected_output("rnn cell=gru hidden=8 batch=3 timesteps=4 precision=float phase=" + phase);
    const auto sum = sum_of(first, 20);
    REQUIRE(sum);
    const size_t weights = 3 * 8 * 8, data = first.values.size() - weights;
    CHECK((data > 0) == (phase == "bwd"));
    for (size_t i = 0; i < first.values.size(); ++i) {
      const double times = i < data ? 1 : 20;
      CHECK(sum->elements.values[i] == doctest::Approx(times * first.values[i]));
      CHECK((i < data ? sum->elements.bounds[i] == first.bounds[i]
                      : sum->elements.bounds[i] >= 20 * first.bounds[i]));
    }
  }
}

}  // namespace
}  // namespace deepbench
