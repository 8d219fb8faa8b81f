// The float64 reference of activations and the bounds of their outputs.
//
// Bounds assume arithmetic in float, with the roundoff u, whatever the type of the operands:
//   - exp(a) is off by 2 u |a|, for its argument, and by 8 u, four units in the last place;
//   - s and tanh are quotients of such values: they are off by the error of exp and 4 u more,
//     relative to their size, and by 4 u of 1, since a kernel may compute either of them from the
//     other;
//   - the error function is off by 16 u of 1: one polynomial for all x, as libraries use it, is
//     off by 2.5 u, and the roundings of its terms add several u;
//   - 4 u more for the products around them.
// relu is exact. Results below the range of normal floats may be zero.
#include "deepbench/ops/activation/reference.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "deepbench/core/blockwise_reference.hpp"
#include "deepbench/core/float_sigmoid.hpp"
#include "deepbench/core/generated_array.hpp"

namespace deepbench {
namespace {

constexpr double kU = kRoundoffFloat;
constexpr double kErrorOfOne = 4 * kU, kErrorOfErf = 16 * kU, kErrorOfProducts = 4 * kU;
constexpr double kSmallestNormal = std::numeric_limits<float>::min();
constexpr uint64_t kBlock = 4096;  // outputs that are computed at once

using Result = FloatResult;

Result hyperbolic_tangent(double x) {
  const double value = std::tanh(x);
  return {value, std::abs(value) * (8 * kU + kErrorOfProducts) + kErrorOfOne};
}

// The distribution function of the normal distribution.
Result normal_distribution(double x) {
  constexpr double kRootOfHalf = 0.70710678118654752440;
  return {0.5 * std::erfc(-x * kRootOfHalf), 0.5 * (kErrorOfErf + 2 * kU)};
}

Result normal_density(double x) {
  constexpr double kPeak = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  const double exponent = x * x / 2, value = kPeak * std::exp(-exponent);
  return {value, value * (relative_error_of_exp(exponent) + kErrorOfProducts)};
}

Result value_at(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::kGelu: {
      const Result factor = normal_distribution(x);
      const double value = x * factor.value;
      return {value, std::abs(x) * factor.error + std::abs(value) * kErrorOfProducts};
    }
    case ActivationKind::kSilu:
      return silu_in_float(x);
    case ActivationKind::kSigmoid:
      return sigmoid_in_float(x);
    case ActivationKind::kTanh:
      return hyperbolic_tangent(x);
    case ActivationKind::kRelu:
      break;
  }
  return {std::max(x, 0.0), 0};
}

// The derivative at x. For sigmoid and tanh, x is the output.
Result derivative_at(ActivationKind kind, double x) {
  switch (kind) {
    case ActivationKind::kGelu: {
      const Result phi = normal_density(x), distribution = normal_distribution(x);
      const double product = x * phi.value;
      return {distribution.value + product,
              distribution.error + std::abs(x) * phi.error +
                  kErrorOfProducts * (distribution.value + std::abs(product))};
    }
    case ActivationKind::kSilu: {
      const Result s = sigmoid_in_float(x);
      const double sizes = 1 + std::abs(x);
      return {s.value * (1 + x * (1 - s.value)), sizes * (s.error + kErrorOfProducts * s.value)};
    }
    case ActivationKind::kSigmoid:
      return {x * (1 - x), kErrorOfProducts * (std::abs(x) + x * x)};
    case ActivationKind::kTanh:
      return {1 - x * x, kErrorOfProducts * (1 + x * x)};
    case ActivationKind::kRelu:
      break;
  }
  return {x > 0 ? 1.0 : 0.0, 0};
}

class Reference {
 public:
  Reference(const Activation& activation, const KernelConditions& conditions)
      : activation_(activation) {
    for (const InputArray& input : activation.inputs()) inputs_.emplace_back(input, conditions);
  }

  void compute(uint64_t first, uint64_t count, double* values, double* bounds) const {
    float x[kBlock], dy[kBlock];
    inputs_[0].read(first, int64_t(count), x);
    if (!activation_.is_forward) inputs_[1].read(first, int64_t(count), dy);
    for (uint64_t i = 0; i < count; ++i) {
      const Result result = activation_.is_forward ? value_at(activation_.kind, x[i])
                                                   : gradient_at(activation_.kind, x[i], dy[i]);
      values[i] = result.value;
      bounds[i] = bound_of(result);
    }
  }

 private:
  static Result gradient_at(ActivationKind kind, double x, double dy) {
    const Result derivative = derivative_at(kind, x);
    const double value = dy * derivative.value;
    if (kind == ActivationKind::kRelu) return {value, 0};
    return {value, std::abs(dy) * derivative.error + std::abs(value) * kErrorOfProducts};
  }

  double bound_of(const Result& result) const {
    if (activation_.kind == ActivationKind::kRelu) return 0;
    const PrecisionInfo& precision = activation_.precision;
    return result.error + std::abs(result.value) * precision.output_roundoff + kSmallestNormal +
           precision.absolute_roundoff();
  }

  const Activation activation_;
  std::vector<GeneratedArray> inputs_;
};

}  // namespace

ExpectedOutput expected_activation_output(const Activation& activation,
                                          const KernelConditions& conditions) {
  const Reference reference(activation, conditions);
  const auto compute = [&](uint64_t first, uint64_t count, double* values, double* bounds) {
    reference.compute(first, count, values, bounds);
  };
  return expected_blockwise_output({activation.elements, kBlock, kBlock, compute},
                                   conditions.verification_seed);
}

}  // namespace deepbench
