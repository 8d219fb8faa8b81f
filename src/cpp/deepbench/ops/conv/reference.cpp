// The float64 reference of conv: small problems in full; of larger ones sampled outputs, and the
// whole by projection. An output summed over one of its dimensions with weights is itself a
// convolution, of operands summed beforehand, at a fraction of the cost.
//
// Bound of one output: output_roundoff |y| + 4 sqrt(K) sum_roundoff sqrt(S^2 + y^2) +
// 4 input_roundoff S, with K the products of an output and S^2 the sum of their squares, as gemm's.
// Winograd's transforms amplify the roundoff of sums; integers are exact.
#include "deepbench/ops/conv/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "deepbench/core/inputs.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/sums.hpp"
#include "deepbench/ops/conv/direct.hpp"
#include "deepbench/ops/conv/sampled_output.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // outputs x products up to which everything is checked
constexpr int64_t kMostFullOutputs = 1 << 20;
constexpr int64_t kMostStored = 1 << 22;  // elements of an operand that are kept for that
constexpr double kSampledWork = 1 << 22;  // products of all sampled outputs
constexpr double kFewestSamples = 24, kMostSamples = 192;
constexpr uint64_t kWeightSeed = 0x5eed;

// The largest that Winograd's tiles for 3 x 3 filters are made in use, F(4x4, 3x3): the deviation
// of the worst of an output tile's elements, per deviation of the products' roundoff. One dimension
// multiplies the variance by sum(A^2 |G|^2 |B|^2) / 3 = 31.5, with the rows of its matrices.
constexpr double kWinogradAmplification = 32;

class ConvReference {
 public:
  ConvReference(const Conv& conv, const Conditions& conditions)
      : conv_(conv),
        output_(conv.output()),
        inputs_(conditions.seed, conditions.inputs),
        constant_(conditions.inputs != "uniform") {
    operands_.x = {&inputs_, conv.x_type, Conv::kStreamX};
    operands_.w = {&inputs_, conv.precision.b, Conv::kStreamW};
    operands_.dy = {&inputs_, conv.precision.a, Conv::kStreamDy};
    for (const auto& [operand, type] : conditions.fill) {
      ConvElements& which = operand == "x"   ? operands_.x
                            : operand == "w" ? operands_.w
                                             : operands_.dy;
      which.type = type == "s7" ? DEEPBENCH_S7 : type == "u8" ? DEEPBENCH_U8 : which.type;
    }
    const PrecisionInfo& precision = conv.precision;
    output_roundoff_ = precision.output_roundoff;
    // Integers whose sums pass through float on their way out.
    if (precision.precision == Precision::kInt8 && conditions.accumulator == "float")
      output_roundoff_ = kRoundoffFloat;
    sums_roundoff_ = 4 * std::sqrt(double(conv.terms())) * precision.sum_roundoff;
    if (conditions.accumulator == "winograd") sums_roundoff_ *= kWinogradAmplification;
    inputs_roundoff_ = 4 * precision.input_roundoff;
  }

  Expectation expect() {
    Expectation expected;
    const int64_t outputs = output_.size();
    expected.outputs = static_cast<uint64_t>(outputs);
    if (double(outputs) * double(conv_.terms()) <= kFullWork && outputs <= kMostFullOutputs) {
      add_all(expected);
      expected.what = "all " + std::to_string(outputs) + " outputs";
      return expected;
    }
    add_samples(expected);
    add_projection(expected);
    expected.what = std::to_string(expected.indices.size()) + " of " + std::to_string(outputs) +
                    " outputs and " + std::to_string(output_.rows()) + " projections of all";
    return expected;
  }

 private:
  void reserve(size_t points, Expectation& expected) const {
    expected.indices.resize(points), expected.values.resize(points), expected.bounds.resize(points);
  }

  void set_point(int64_t index, const DotSums& sums, size_t at, Expectation& expected) const {
    const double value = sums.products;
    const double error = sums_roundoff_ * std::sqrt(sums.squares + value * value) +
                         inputs_roundoff_ * std::sqrt(sums.squares);
    expected.indices[at] = static_cast<uint64_t>(index);
    expected.values[at] = value;
    expected.bounds[at] = output_roundoff_ * (std::abs(value) + error) + error;
  }

  // The sum of squared products is the convolution of the squares.
  void add_all(Expectation& expected) const {
    std::array<std::vector<double>, 3> stored;
    ConvOperands operands = operands_;
    store(conv_.x_size(), operands.x, stored[0]);
    store(conv_.w_size(), operands.w, stored[1]);
    store(conv_.y_size(), operands.dy, stored[2]);
    const std::vector<double> products = direct_convolution(conv_, operands);
    for (ConvElements* of : {&operands.x, &operands.w, &operands.dy}) of->squared = true;
    const std::vector<double> squares = direct_convolution(conv_, operands);
    reserve(products.size(), expected);
    for (size_t index = 0; index < products.size(); ++index) {
      const auto place = static_cast<size_t>(output_.place(int64_t(index)));
      set_point(int64_t(index), {products[place], squares[place]}, index, expected);
    }
  }

  static void store(int64_t size, ConvElements& elements, std::vector<double>& stored) {
    if (size > kMostStored) return;
    stored.resize(size_t(size));
    elements.read(0, size, stored.data());
    elements.stored = &stored;
  }

  void add_samples(Expectation& expected) const {
    const double budget = kSampledWork / double(conv_.terms());
    const auto count = int64_t(std::clamp(budget, kFewestSamples, kMostSamples));
    const std::vector<int64_t> indices = sampled_outputs(conv_, count, kWeightSeed);
    reserve(indices.size(), expected);
    parallel_tasks(int64_t(indices.size()), parallel_width(), [&](int64_t at) {
      const int64_t index = indices[size_t(at)];
      set_point(index, one_output(conv_, operands_, index), size_t(at), expected);
    });
  }

  // Random errors of the elements behind a sum, at twice their typical bound. Summing in double
  // adds the last term.
  void add_projection(Expectation& expected) const {
    const double terms = double(conv_.terms());
    const double product = std::sqrt(mean_square_of_products());
    const double typical = product * (constant_ ? terms : std::sqrt(terms));
    const double relative = output_roundoff_ + sums_roundoff_ + inputs_roundoff_;
    const double doubles = 1e-13 * (1 + std::sqrt(terms));
    const double bound =
        2 * std::sqrt(double(output_.slowest())) * typical * (relative + doubles) + 1e-300;
    expected.sums = projection();
    expected.sum_bounds.assign(expected.sums.size(), bound);
    expected.projection_rows = static_cast<uint64_t>(output_.rows());
    expected.projection_seed = kWeightSeed;
  }

  double mean_square_of_products() const {
    const double x = inputs_.mean_square(operands_.x.type);
    const double w = inputs_.mean_square(operands_.w.type);
    const double dy = inputs_.mean_square(operands_.dy.type);
    switch (conv_.phase) {
      case ConvPhase::kForward:
        return x * w;
      case ConvPhase::kBackwardData:
        return dy * w;
      default:
        return x * dy;
    }
  }

  std::vector<double> projection() const {
    std::vector<float> run(size_t(output_.slowest()));
    weight_run(kWeightSeed, 0, output_.slowest(), run.data());
    const std::vector<double> weights(run.begin(), run.end());
    switch (conv_.phase) {
      case ConvPhase::kForward:
        return output_.second_is_slowest
                   ? filters_summed(weights, false)
                   : images_summed(operands_.x, conv_.c * conv_.image(), &ConvOperands::x, weights);
      case ConvPhase::kBackwardData:
        return output_.second_is_slowest ? filters_summed(weights, true)
                                         : images_summed(operands_.dy, conv_.k * conv_.response(),
                                                         &ConvOperands::dy, weights);
      default:
        return output_.second_is_slowest ? inputs_summed(weights) : responses_summed(weights);
    }
  }

  // One image that is the sum of all.
  std::vector<double> images_summed(const ConvElements& images, int64_t size,
                                    ConvElements ConvOperands::*which,
                                    const std::vector<double>& weights) const {
    const std::vector<double> sum = collapsed(images, {1, conv_.n, size, 1, 1}, weights);
    Conv one = conv_;
    one.n = 1;
    return convolution_with(one, which, sum);
  }

  // One filter that is the sum of all, or of its channels: the other channels are one group then.
  std::vector<double> filters_summed(const std::vector<double>& weights, bool channels) const {
    Conv one = conv_;
    one.groups = 1;
    (channels ? one.c : one.k) = 1;
    const int64_t c = conv_.group_c(), taps = conv_.taps();
    const Collapse shape = channels
                               ? Collapse{conv_.k, c, taps, conv_.group_k(), conv_.groups}
                               : Collapse{conv_.groups, conv_.group_k(), c * taps, 1, conv_.groups};
    return convolution_with(one, &ConvOperands::w, collapsed(operands_.w, shape, weights));
  }

  // dw over all filters: one response for each group, and the groups' filters added up.
  std::vector<double> responses_summed(const std::vector<double>& weights) const {
    Conv one = conv_;
    one.k = conv_.groups;
    const auto size = size_t(output_.rows());
    std::vector<double> sums;
    if (conv_.group_k() > 1) {
      const Collapse shape = {conv_.n * conv_.groups, conv_.group_k(), conv_.response(), 1,
                              conv_.groups};
      sums = convolution_with(one, &ConvOperands::dy, collapsed(operands_.dy, shape, weights));
    } else {  // nothing is summed beforehand, so nothing need be stored
      sums = direct_convolution(conv_, operands_);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] *= weights[i / size];
    }
    for (size_t i = size; i < sums.size(); ++i) sums[i % size] += sums[i];
    sums.resize(size);
    return sums;
  }

  // dw over the channels of a filter: one input for each group.
  std::vector<double> inputs_summed(const std::vector<double>& weights) const {
    Conv one = conv_;
    one.c = conv_.groups;
    const Collapse shape = {conv_.n * conv_.groups, conv_.group_c(), conv_.image(), 1, 1};
    return convolution_with(one, &ConvOperands::x, collapsed(operands_.x, shape, weights));
  }

  std::vector<double> convolution_with(const Conv& conv, ConvElements ConvOperands::*which,
                                       const std::vector<double>& stored) const {
    ConvOperands operands = operands_;
    (operands.*which).stored = &stored;
    return direct_convolution(conv, operands);
  }

  const Conv conv_;
  const ConvOutput output_;
  const Inputs inputs_;
  const bool constant_;
  ConvOperands operands_;
  double output_roundoff_ = 0, sums_roundoff_ = 0, inputs_roundoff_ = 0;
};

}  // namespace

Expectation expect_conv(const Conv& conv, const Conditions& conditions) {
  return ConvReference(conv, conditions).expect();
}

}  // namespace deepbench
