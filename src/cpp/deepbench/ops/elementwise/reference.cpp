// The float64 reference of elementwise work and the bounds of its outputs.
//
// Bounds assume arithmetic in float, with the roundoff u, whatever the type of the operands:
//   - a sum or a product is off by u of itself;
//   - swiglu is off by the error of silu, times |b|, and by u of itself;
//   - an element of rotary is the sum of two products, each off by u of itself, which rounds once
//     more.
// Results below the range of normal floats may be zero.
#include "deepbench/ops/elementwise/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "deepbench/core/blockwise_reference.hpp"
#include "deepbench/core/float_sigmoid.hpp"
#include "deepbench/core/generated_array.hpp"

namespace deepbench {
namespace {

constexpr double kU = kRoundoffFloat;
constexpr double kSmallestNormal = std::numeric_limits<float>::min();
constexpr uint64_t kOutputsAtOnce = 4096;

// A head is computed at once, because each of its halves depends on the other.
uint64_t block_of(const Elementwise& elementwise) {
  return elementwise.is_rotary() ? uint64_t(elementwise.dim) : kOutputsAtOnce;
}

FloatResult combined(ElementwiseKind kind, double a, double b) {
  if (kind == ElementwiseKind::kSwiglu) {
    const FloatResult silu = silu_in_float(a);
    const double value = silu.value * b;
    return {value, silu.error * std::abs(b) + kU * std::abs(value)};
  }
  const double value = kind == ElementwiseKind::kAdd ? a + b : a * b;
  return {value, kU * std::abs(value)};
}

FloatResult sum_of_products(double a, double b, double c, double d) {
  const double value = a * b + c * d;
  return {value, kU * (std::abs(a * b) + std::abs(c * d) + std::abs(value))};
}

class Reference {
 public:
  Reference(const Elementwise& elementwise, const KernelConditions& conditions)
      : elementwise_(elementwise) {
    for (const InputArray& input : elementwise.inputs()) inputs_.emplace_back(input, conditions);
  }

  void compute(uint64_t first, uint64_t count, double* values, double* bounds) const {
    const std::vector<FloatResult> results =
        elementwise_.is_rotary() ? rotated_head(first / count) : combined_block(first, count);
    for (uint64_t i = 0; i < count; ++i) {
      values[i] = results[i].value;
      bounds[i] = bound_of(results[i]);
    }
  }

 private:
  std::vector<float> read(size_t input, uint64_t first, uint64_t count) const {
    std::vector<float> elements(count);
    inputs_[input].read(first, int64_t(count), elements.data());
    return elements;
  }

  std::vector<FloatResult> combined_block(uint64_t first, uint64_t count) const {
    const std::vector<float> a = read(0, first, count), b = read(1, first, count);
    std::vector<FloatResult> results(count);
    for (uint64_t i = 0; i < count; ++i) results[i] = combined(elementwise_.kind, a[i], b[i]);
    return results;
  }

  // A head of the output, whose heads are numbered across all rows in order.
  std::vector<FloatResult> rotated_head(uint64_t head) const {
    const auto dim = uint64_t(elementwise_.dim), half = dim / 2;
    const uint64_t row = head / uint64_t(elementwise_.heads());
    const std::vector<float> x = read(0, head * dim, dim), cosines = read(1, row * half, half),
                             sines = read(2, row * half, half);
    std::vector<FloatResult> results(dim);
    for (uint64_t i = 0; i < half; ++i) {
      results[i] = sum_of_products(x[i], cosines[i], -x[i + half], sines[i]);
      results[i + half] = sum_of_products(x[i + half], cosines[i], x[i], sines[i]);
    }
    return results;
  }

  double bound_of(const FloatResult& result) const {
    const PrecisionInfo& precision = elementwise_.precision;
    return result.error + std::abs(result.value) * precision.output_roundoff + kSmallestNormal +
           precision.absolute_roundoff();
  }

  const Elementwise elementwise_;
  std::vector<GeneratedArray> inputs_;
};

}  // namespace

ExpectedOutput expected_elementwise_output(const Elementwise& elementwise,
                                           const KernelConditions& conditions) {
  const Reference reference(elementwise, conditions);
  const auto compute = [&](uint64_t first, uint64_t count, double* values, double* bounds) {
    reference.compute(first, count, values, bounds);
  };
  const uint64_t block = block_of(elementwise);
  return expected_blockwise_output({elementwise.elements(), block, block, compute},
                                   conditions.verification_seed);
}

double elementwise_reference_bytes(const Elementwise& elementwise) {
  return blockwise_verification_bytes(elementwise.elements(), block_of(elementwise),
                                      int(sizeof(FloatResult) / sizeof(float)) + 2);
}

}  // namespace deepbench
