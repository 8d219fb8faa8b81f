// The float64 reference of axpy: sampled elements, and a projection of all of them.
//
// Bound of one output: the product and the sum are each rounded once to the type of the operands,
// so that the error is at most u (|a x| (1 + u) + |a x + y|) for a roundoff of u. Half adds half of
// the last place of its subnormals for each rounding.
#include "deepbench/ops/axpy/reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/parallel.hpp"

namespace deepbench {
namespace {

constexpr int64_t kSamples = 1024;
constexpr int64_t kMinPart = 1 << 16;
constexpr int64_t kBlock = 1024;
constexpr uint64_t kWeightSeed = 0x5eed;
// Errors of single outputs are independent: their weighted sum exceeds six times the root of the
// sum of squared bounds less often than once in 10^8 problems.
constexpr double kDeviations = 6;
constexpr double kRoundoffDouble = 1.0 / (int64_t{1} << 53);

struct Expected {
  double value = 0, bound = 0;
};

Expected expected_element(const Axpy& axpy, double x, double y) {
  const double product = Axpy::kA * x, sum = product + y;
  const double roundoff = axpy.precision.output_roundoff;
  return {sum, roundoff * (std::abs(product) * (1 + roundoff) + std::abs(sum)) +
                   2 * axpy.precision.absolute_roundoff()};
}

struct Projection {
  double sum = 0, squared_bounds = 0, magnitudes = 0;
};

Projection projection_of_part(const Axpy& axpy, const InputGenerator& inputs, int64_t begin,
                              int64_t end) {
  Projection part;
  float x[kBlock], y[kBlock], weights[kBlock];
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t count = std::min(kBlock, end - first);
    inputs.fill(axpy.type(), Axpy::kStreamX, uint64_t(first), 1, count, x);
    inputs.fill(axpy.type(), Axpy::kStreamY, uint64_t(first), 1, count, y);
    fill_weights(kWeightSeed, uint64_t(first), count, weights);
    for (int64_t i = 0; i < count; ++i) {
      const auto [value, bound] = expected_element(axpy, x[i], y[i]);
      part.sum += weights[i] * value;
      part.magnitudes += std::abs(value);
      part.squared_bounds += bound * bound;
    }
  }
  return part;
}

Projection projection_of_all(const Axpy& axpy, const InputGenerator& inputs) {
  std::vector<Projection> parts(static_cast<size_t>(parallel_threads()));
  parallel_for(axpy.n, kMinPart, [&](int64_t begin, int64_t end, int part) {
    parts[size_t(part)] = projection_of_part(axpy, inputs, begin, end);
  });
  Projection all;
  for (const Projection& part : parts) {
    all.sum += part.sum;
    all.magnitudes += part.magnitudes;
    all.squared_bounds += part.squared_bounds;
  }
  return all;
}

}  // namespace

ExpectedOutput expected_axpy_output(const Axpy& axpy, const KernelConditions& conditions) {
  const InputGenerator inputs(conditions.seed, conditions.inputs);
  ExpectedOutput expected;
  expected.outputs = uint64_t(axpy.n);
  const int64_t samples = std::min(kSamples, axpy.n);
  for (int64_t i = 0; i < samples; ++i) {
    const auto index = uint64_t(i == samples - 1 ? axpy.n - 1 : axpy.n / samples * i);
    const auto [value, bound] =
        expected_element(axpy, inputs.element(axpy.type(), Axpy::kStreamX, index),
                         inputs.element(axpy.type(), Axpy::kStreamY, index));
    expected.indices.push_back(index);
    expected.values.push_back(value);
    expected.bounds.push_back(bound);
  }
  const Projection all = projection_of_all(axpy, inputs);
  expected.projection_rows = 1;
  expected.projection_seed = kWeightSeed;
  expected.projections = {all.sum};
  expected.projection_bounds = {kDeviations * std::sqrt(all.squared_bounds) +
                                double(axpy.n) * kRoundoffDouble * all.magnitudes};
  expected.coverage = std::to_string(samples) + " of " + std::to_string(axpy.n) +
                      " outputs and a projection of all";
  return expected;
}

}  // namespace deepbench
