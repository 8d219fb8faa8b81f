// Sums of few products in half may be subnormal. Their rounding error exceeds the relative error of
// normal numbers, and every reference's bounds must allow for it.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

struct RoundingErrors {
  size_t wrong = 0;  // number of outputs outside their bounds
  // number of outputs with a larger relative error than normal numbers have
  size_t beyond_a_share = 0;
};

// Rounds every expected output of the problem to half. Adds to `counts` the outputs that leave
// their bounds, and those whose relative error is larger than normal numbers have.
void count_rounding_errors(const std::string& text, uint64_t seed, RoundingErrors& counts) {
  const Problem problem = Problem::parse(text + " precision=half");
  KernelConditions conditions;
  conditions.beta = 0, conditions.seed = seed;
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  for (size_t i = 0; i < expected.values.size(); ++i) {
    const double value = expected.values[i];
    const double error = std::abs(deepbench_from_half(deepbench_to_half(float(value))) - value);
    counts.wrong += !(error <= expected.bounds[i]);
    counts.beyond_a_share += error > 1.1 * kRoundoffHalf * std::abs(value);
  }
}

TEST_CASE("every reference accepts outputs rounded to half's subnormals") {
  for (const char* text : {"gemm m=40 n=40 k=1", "sparse_gemm m=40 n=40 k=2 sparsity=0.5",
                           "conv w=1 h=1 c=40 n=40 k=1 s=1 r=1 phase=bwd_data",
                           "conv w=2 h=2 c=20 n=1 k=20 s=2 r=2 "
                           "phase=bwd_filter"}) {
    CAPTURE(text);
    RoundingErrors counts;
    for (uint64_t seed = 0; seed < 30; ++seed) count_rounding_errors(text, seed, counts);
    CHECK(counts.wrong == 0);
    CHECK(counts.beyond_a_share > 0);
  }
}

}  // namespace
}  // namespace deepbench
