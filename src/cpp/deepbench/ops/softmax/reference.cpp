// The float64 reference of softmax and the bounds of its outputs.
//
// Bounds assume arithmetic in float, with the roundoff u, whatever the type of the operands.
// Forward, with t = x - max x <= 0:
//   - exp(t) is off by its argument's error, which is 2 u |t| (the difference, and its product with
//     log2(e) where a unit computes powers of two), and by 8 u, four units in the last place;
//   - the sum of n such terms adds 2 sqrt(n) u, eight deviations of the error that a loop over
//     positive terms makes, and the mean of their errors;
//   - the quotient adds 4 u, since a kernel may multiply by an inverse;
//   - the result is rounded to the output's type, and so is exp(t) where a kernel states it.
// Of the integers the sum is exact. Results below the range of normal floats may be zero.
// Gradient, with S = sum y dy: S is off by the error of a sum of products, dy - S and its product
// with y are rounded, where S may cancel dy.
#include "deepbench/ops/softmax/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "deepbench/core/blockwise_reference.hpp"
#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/generated_array.hpp"

namespace deepbench {
namespace {

constexpr double kU = kRoundoffFloat;
constexpr double kErrorOfExp = 8 * kU, kErrorOfQuotient = 4 * kU;
constexpr double kSmallestNormal = std::numeric_limits<float>::min();
constexpr uint64_t kBlock = 4096;  // minimum of outputs that are computed at once

double relative_error_of_exp(double argument) { return 2 * kU * std::abs(argument) + kErrorOfExp; }

class Reference {
 public:
  Reference(const Softmax& softmax, const KernelConditions& conditions)
      : softmax_(softmax),
        sums_are_exact_(conditions.inputs == "integers"),
        roundings_(conditions.accumulator == Softmax::kRoundedExponentials ? 2 : 1) {
    for (const InputArray& input : softmax.inputs()) inputs_.emplace_back(input, conditions);
  }

  void compute(uint64_t first, uint64_t count, double* values, double* bounds) const {
    const auto columns = size_t(softmax_.columns);
    std::vector<float> x(columns), dy(softmax_.is_forward ? 0 : columns);
    for (uint64_t begin = 0; begin < count; begin += columns) {
      inputs_[0].read(first + begin, softmax_.columns, x.data());
      if (softmax_.is_forward) {
        forward(x, values + begin, bounds + begin);
      } else {
        inputs_[1].read(first + begin, softmax_.columns, dy.data());
        gradient(x, dy, values + begin, bounds + begin);
      }
    }
  }

 private:
  void forward(const std::vector<float>& x, double* values, double* bounds) const {
    const double largest = *std::max_element(x.begin(), x.end());
    double sum = 0, errors = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      values[i] = std::exp(x[i] - largest);
      sum += values[i];
      errors += values[i] * relative_error_of_exp(x[i] - largest);
    }
    const double of_sum =
        errors / sum + (sums_are_exact_ ? 0 : 2 * std::sqrt(double(x.size())) * kU);
    for (size_t i = 0; i < x.size(); ++i) {
      values[i] /= sum;
      const double relative = roundings_ * softmax_.precision.output_roundoff +
                              relative_error_of_exp(x[i] - largest) + of_sum + kErrorOfQuotient;
      bounds[i] = values[i] * relative + kSmallestNormal + softmax_.precision.absolute_roundoff();
    }
  }

  void gradient(const std::vector<float>& y, const std::vector<float>& dy, double* values,
                double* bounds) const {
    double sum = 0, squares = 0;
    for (size_t i = 0; i < y.size(); ++i) {
      const double product = double(y[i]) * dy[i];
      sum += product;
      squares += product * product;
    }
    const double of_sum =
        random_error_of_sums(double(y.size()), softmax_.precision) * std::sqrt(squares + sum * sum);
    for (size_t i = 0; i < y.size(); ++i) {
      const double factor = std::abs(double(y[i])), scale = std::abs(double(dy[i])) + std::abs(sum);
      values[i] = y[i] * (dy[i] - sum);
      bounds[i] = std::abs(values[i]) * softmax_.precision.output_roundoff +
                  factor * (of_sum + 4 * kU * scale) + kSmallestNormal +
                  softmax_.precision.absolute_roundoff();
    }
  }

  const Softmax softmax_;
  const bool sums_are_exact_;
  const double roundings_;  // roundings to the output's type
  std::vector<GeneratedArray> inputs_;
};

// Blocks consist of whole rows.
uint64_t block_of(const Softmax& softmax) {
  const auto columns = uint64_t(softmax.columns);
  return columns * std::max<uint64_t>(1, kBlock / columns);
}

}  // namespace

ExpectedOutput expected_softmax_output(const Softmax& softmax, const KernelConditions& conditions) {
  const Reference reference(softmax, conditions);
  const auto compute = [&](uint64_t first, uint64_t count, double* values, double* bounds) {
    reference.compute(first, count, values, bounds);
  };
  return expected_blockwise_output(
      {softmax.elements(), block_of(softmax), uint64_t(softmax.columns), compute},
      conditions.verification_seed);
}

double softmax_verification_bytes(const Softmax& softmax) {
  return blockwise_verification_bytes(softmax.elements(), block_of(softmax),
                                      int(softmax.inputs().size()));
}

}  // namespace deepbench
