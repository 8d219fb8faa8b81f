// What many outputs show together: the slope of a convolution's projections, with outputs computed
// by plain loops and rounded as a library stores them, and the errors of a part.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../../ops/naive_conv.hpp"
#include "deepbench/run/row/verify.hpp"
#include "one_kernel_backend.hpp"

namespace deepbench {
namespace {

using testing::NaiveConv;
using testing::PlainKernel;

struct GivenOutputs final : PlainKernel {
  static inline std::vector<double> outputs;

  void scan_output(uint32_t, deepbench_scan& scan) override { scan.count = outputs.size(); }
  void read_output(uint32_t, const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i) values[i] = outputs[indices[i]];
  }
  void project_output(uint32_t, uint64_t rows, uint64_t seed, double* sums) override {
    std::fill(sums, sums + rows, 0);
    for (uint64_t i = 0; i < outputs.size(); ++i)
      sums[i % rows] += outputs[i] * deepbench_weight(seed, i / rows);
  }
};

std::vector<double> stored_as_bfloat16(const std::vector<double>& exact, double factor) {
  std::vector<double> stored;
  for (const double value : exact)
    stored.push_back(deepbench_from_bfloat16(deepbench_to_bfloat16(float(factor * value))));
  return stored;
}

// Why GivenOutputs are not accepted.
std::string reason_of(const Problem& problem, uint64_t verification_seed) {
  deepbench::Kernel kernel = testing::prepare_kernel<GivenOutputs>(problem);
  Verifier verifier(problem, kernel.facts(), 1, "uniform", verification_seed,
                    [&]() -> deepbench::Kernel { throw 0; });
  verifier.check(kernel, "now");
  return verifier.result().reason;
}

// The few outputs that are compared one by one show a small factor by chance.
TEST_CASE("conv: a factor that single outputs hide shows in the slope of the projections") {
  constexpr uint64_t kSeeds = 8;
  const Problem problem =
      Problem::parse("conv w=60 h=60 c=8 n=4 k=17 s=3 r=3 pad_w=1 pad_h=1 precision=bfloat16");
  const std::vector<double> exact = NaiveConv(conv_problem(problem)).output();
  GivenOutputs::outputs = stored_as_bfloat16(exact, 1);
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) CHECK(reason_of(problem, seed) == "");
  for (const double factor : {1.0003, 0.9997}) {
    GivenOutputs::outputs = stored_as_bfloat16(exact, factor);
    int by_slope_alone = 0;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const std::string reason = reason_of(problem, seed);
      CHECK(reason != "");
      by_slope_alone += reason.find("now: the slope of 14400 projections") == 0;
    }
    CHECK(by_slope_alone > 0);
  }
}

// 10^4 outputs of 10 and -10, and another part of as many.
ExpectedOutput expect_two_parts(const KernelConditions&) {
  constexpr size_t kCount = 10000;
  ExpectedOutput expected;
  expected.outputs = 2 * kCount;
  for (size_t i = 0; i < 2 * kCount; ++i) {
    expected.indices.push_back(i);
    expected.values.push_back(i % 2 ? 10 : -10);
    expected.bounds.push_back(1);
  }
  expected.parts = {{0, kCount, 0.25, 0.005}, {kCount, kCount, 0.25, 0.005}};
  return expected;
}

TEST_CASE("errors that single outputs hide show in those of a part together") {
  const testing::ExpectingOperation operation(expect_two_parts);
  const std::vector<double> right = expect_two_parts({}).values;
  // The second part alone has errors.
  const auto reason_of_errors = [&](double added, double factor) {
    GivenOutputs::outputs = right;
    for (size_t i = right.size() / 2; i < right.size(); ++i) {
      const double sign = i / 2 % 2 ? 1 : -1;
      GivenOutputs::outputs[i] = factor * right[i] + sign * added;
    }
    return reason_of(Problem(operation, {}), 1);
  };
  CHECK(reason_of_errors(0.2, 1) == "");
  CHECK(reason_of_errors(0, 1.003) == "");
  CHECK(reason_of_errors(0.5, 1) ==
        "now: the errors of 10000 outputs from 10000 on are 0.5 of their bounds on average, not "
        "within 0.25");
  CHECK(reason_of_errors(0, 1.01).find("now: the slope of 10000 outputs from 10000 on") == 0);
}

}  // namespace
}  // namespace deepbench
