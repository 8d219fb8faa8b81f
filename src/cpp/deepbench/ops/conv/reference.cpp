// The float64 reference of conv. Small problems are checked in full; larger ones at sampled outputs
// and, as a whole, by projection. An output summed over one of its dimensions with weights is
// itself a convolution of operands that are summed beforehand, at a fraction of the cost.
//
// Bound of one output: output_roundoff |y| + error_of_sums(K) sqrt(S^2 + y^2) + 4 input_roundoff S
// + 2 input_roundoff |y|, where K is the number of products of an output and S^2 the sum of their
// squares. It is gemm's bound plus the last term: some libraries truncate inputs
// instead of rounding them, which on average takes up to one input_roundoff off both factors.
// Winograd's transforms amplify the roundoff of sums; integers are exact.
//
// 8-bit outputs are not a linear function of the operands, so projections do not hold; more outputs
// are sampled instead.
#include "deepbench/ops/conv/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/projection_bound.hpp"
#include "deepbench/core/sums.hpp"
#include "deepbench/ops/conv/direct_conv.hpp"
#include "deepbench/ops/conv/projected_conv.hpp"
#include "deepbench/ops/conv/sampled_output.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // outputs x products up to which every output is compared
constexpr int64_t kMaxFullOutputs = 1 << 20;  // upper limit of outputs that are compared one by one
constexpr int64_t kMaxStored = 1 << 22;   // larger operands are generated again instead of stored
constexpr double kSampledWork = 1 << 22;  // products of all sampled outputs
constexpr double kMinSamples = 24, kMaxSamples = 192;
constexpr double kAlongWork = 1 << 24;  // products of the outputs along the slowest dimension
// Where each projection covers far more outputs than there are projections (layers of width and
// height 1), more outputs are sampled: all of them, if affordable. Saturating outputs have no
// projections, so more of them are sampled too.
constexpr int64_t kLopsidedRatio = 64;
constexpr double kLopsidedWork = 1 << 27, kSaturatedWork = 1 << 24;
// Fewer projections, or fewer outputs without projections, tell little about a common factor.
constexpr int64_t kMinSlopeProjections = 256;
constexpr size_t kMinSlopeOutputs = 4096;

// F(4x4, 3x3) is the largest Winograd tile in use for 3 x 3 filters. The factor is the standard
// deviation of the worst element of an output tile relative to that of the products' roundoff: each
// dimension multiplies the variance by sum(A^2 |G|^2 |B|^2) / 3 = 31.5, with the rows of the
// transform matrices.
constexpr double kWinogradAmplification = 32;

bool checks_all_outputs(const Conv& conv) {
  const int64_t outputs = conv.output().size();
  return outputs <= kMaxFullOutputs &&
         double(outputs) * double(conv.products_per_output()) <= kFullWork;
}

int64_t sample_count(const Conv& conv) {
  const ConvOutput output = conv.output();
  const auto terms = double(conv.products_per_output());
  const auto max_samples = double(std::min(output.size(), kMaxFullOutputs));
  const auto affordable = [&](double work) { return std::max(work / terms, kMinSamples); };
  if (output.slowest_extent() / kLopsidedRatio > output.rows())
    return int64_t(std::min(affordable(kLopsidedWork), max_samples));
  if (conv.saturates()) return int64_t(std::min(affordable(kSaturatedWork), max_samples));
  return int64_t(std::min(affordable(kSampledWork), kMaxSamples));
}

// The number of sampled outputs along the slowest dimension, in which every sum of a projection has
// a single weight.
int64_t samples_along(const Conv& conv) {
  return int64_t(std::max(kAlongWork / double(conv.products_per_output()), kMinSamples));
}

class ConvReference {
 public:
  ConvReference(const Conv& conv, const KernelConditions& conditions)
      : conv_(conv),
        output_(conv.output()),
        seed_(conditions.verification_seed),
        inputs_(conditions.seed, conditions.inputs),
        constant_(conditions.inputs != "uniform"),
        judges_slope_(!constant_ && !conv.saturates() && size_of(conv.precision.c) <= 2 &&
                      conditions.accumulator != "fp22" && conditions.accumulator != "winograd") {
    operands_.x = {&inputs_, conv.x_type, Conv::kStreamX};
    operands_.w = {&inputs_, conv.precision.b, Conv::kStreamW};
    operands_.dy = {&inputs_, conv.precision.a, Conv::kStreamDy};
    for (const auto& [operand, type] : conditions.fill) {
      ConvOperand& which = operand == "x"   ? operands_.x
                           : operand == "w" ? operands_.w
                                            : operands_.dy;
      which.type = type == "s7" ? DEEPBENCH_S7 : type == "u8" ? DEEPBENCH_U8 : which.type;
    }
    const PrecisionInfo& precision = conv.precision;
    output_roundoff_ = precision.output_roundoff;
    // A library that converts int32 sums through float rounds them.
    if (precision.precision == Precision::kInt8 && conditions.accumulator == "float")
      output_roundoff_ = kRoundoffFloat;
    const double products = double(conv.products_per_output());
    sums_roundoff_ = conditions.accumulator == "winograd"
                         ? kWinogradAmplification * random_error_of_sums(products, precision)
                         : error_of_sums(products, precision);
    inputs_roundoff_ = 4 * precision.input_roundoff;
    truncation_ = 2 * precision.input_roundoff;
    // The "fp22" accumulator of fp8 keeps sums of 128 products in 14 bits.
    if (conditions.accumulator == "fp22")
      inputs_roundoff_ =
          4 * std::sqrt(double(std::min<int64_t>(conv.products_per_output(), 128))) / (1 << 13);
  }

  ExpectedOutput expected_output() {
    ExpectedOutput expected;
    const int64_t outputs = output_.size();
    expected.outputs = static_cast<uint64_t>(outputs);
    expected.coverage = "all " + std::to_string(outputs) + " outputs";
    if (checks_all_outputs(conv_)) {
      add_all_outputs(expected);
      add_slope(expected);
      return expected;
    }
    const std::vector<int64_t> indices =
        sampled_outputs(conv_, sample_count(conv_), samples_along(conv_), seed_);
    add_sampled_outputs(indices, expected);
    if (int64_t(indices.size()) == outputs) {
      add_slope(expected);
      return expected;
    }
    expected.coverage =
        std::to_string(expected.indices.size()) + " of " + std::to_string(outputs) + " outputs";
    if (conv_.saturates()) return expected;
    add_projection(expected);
    add_slope(expected);
    expected.coverage += " and " + std::to_string(output_.rows()) +
                         (output_.rows() == 1 ? " projection of all" : " projections of all");
    return expected;
  }

  // Whether a correct output may be a byte that equals the poison.
  bool may_equal_poison() const { return conv_.saturates() && !constant_; }

  ExpectedElements elements_at(const std::vector<uint64_t>& indices) const {
    ExpectedElements expected;
    add_sampled_outputs(indices, expected);
    return expected;
  }

 private:
  void set_point(int64_t index, const DotSums& sums, size_t point,
                 ExpectedElements& expected) const {
    const double value = conv_.saturates()
                             ? std::clamp(sums.products * conv_.output_scale(), -128.0, 127.0)
                             : sums.products;
    const double error = sums_roundoff_ * std::sqrt(sums.squares + value * value) +
                         inputs_roundoff_ * std::sqrt(sums.squares) + truncation_ * std::abs(value);
    expected.indices[point] = static_cast<uint64_t>(index);
    expected.values[point] = value;
    expected.bounds[point] =
        output_roundoff_ * (std::abs(value) + error) + error + conv_.precision.absolute_roundoff();
  }

  // The sum of squared products is the convolution of the squared operands.
  void add_all_outputs(ExpectedOutput& expected) const {
    std::array<std::vector<double>, 3> stored;
    ConvOperands operands = operands_;
    store_all_elements(conv_.x_size(), operands.x, stored[0]);
    store_all_elements(conv_.w_size(), operands.w, stored[1]);
    store_all_elements(conv_.y_size(), operands.dy, stored[2]);
    const std::vector<double> products = direct_convolution(conv_, operands);
    for (ConvOperand* of : {&operands.x, &operands.w, &operands.dy}) of->squared = true;
    const std::vector<double> squares = direct_convolution(conv_, operands);
    expected.resize(products.size());
    for (size_t index = 0; index < products.size(); ++index) {
      const auto position = static_cast<size_t>(output_.tensor_index(int64_t(index)));
      set_point(int64_t(index), {products[position], squares[position]}, index, expected);
    }
  }

  static void store_all_elements(int64_t size, ConvOperand& elements, std::vector<double>& stored) {
    if (size > kMaxStored) return;
    stored.resize(size_t(size));
    elements.read(0, size, stored.data());
    elements.stored = &stored;
  }

  template <class Index>
  void add_sampled_outputs(const std::vector<Index>& indices, ExpectedElements& expected) const {
    expected.resize(indices.size());
    parallel_tasks(int64_t(indices.size()), parallel_threads(), [&](int64_t point) {
      const auto index = int64_t(indices[size_t(point)]);
      set_point(index, compute_output(conv_, operands_, index), size_t(point), expected);
    });
  }

  // The term `doubles` covers the double-precision summation.
  void add_projection(ExpectedOutput& expected) const {
    const double terms = double(conv_.products_per_output());
    const double product = std::sqrt(mean_square_of_products());
    const double typical = product * (constant_ ? terms : std::sqrt(terms));
    const double relative = output_roundoff_ + sums_roundoff_ + inputs_roundoff_;
    const double doubles = 1e-13 * (1 + std::sqrt(terms));
    const double bound = projection_bound_over_typical(double(output_.slowest_extent())) * typical *
                             (relative + doubles) +
                         1e-300;
    expected.projections = projection();
    expected.projection_bounds.assign(expected.projections.size(), bound);
    expected.projection_rows = static_cast<uint64_t>(output_.rows());
    expected.projection_seed = seed_;
  }

  // Judges the slope of the projections, which consist of many outputs and cost nothing more. The
  // slope requires independent errors: equal inputs cause equal roundings, 14-bit sums are
  // truncated, and Winograd's transform rounds filters alike for all places of an image.
  void add_slope(ExpectedOutput& expected) const {
    if (!judges_slope_) return;
    const bool many_projections = int64_t(expected.projections.size()) >= kMinSlopeProjections;
    if (!many_projections && expected.indices.size() < kMinSlopeOutputs) return;
    const auto of =
        many_projections ? ExpectedSlope::Of::kProjections : ExpectedSlope::Of::kComparedElements;
    expected.slope = {
        of,
        {},
        common_error_of_sums(double(conv_.products_per_output()), conv_.precision.sum_roundoff)};
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
    std::vector<float> run(size_t(output_.slowest_extent()));
    fill_weights(seed_, 0, output_.slowest_extent(), run.data());
    const std::vector<double> weights(run.begin(), run.end());
    const Conv& c = conv_;
    const bool second = output_.second_is_slowest;
    switch (c.phase) {
      case ConvPhase::kForward:
        if (!second)
          return contracted_convolution(&ConvOperands::x, {1, c.n, c.c * c.x_channel_size(), 1, 1},
                                        weights);
        return contracted_convolution(&ConvOperands::w,
                                      {c.groups, c.group_k(), c.group_c() * c.taps(), 1, c.groups},
                                      weights);
      case ConvPhase::kBackwardData:
        if (!second)
          return contracted_convolution(&ConvOperands::dy, {1, c.n, c.k * c.y_channel_size(), 1, 1},
                                        weights);
        return contracted_convolution(&ConvOperands::w,
                                      {c.k, c.group_c(), c.taps(), c.group_k(), c.groups}, weights);
      default:
        if (!second) return weight_gradient_projection(weights);
        return contracted_convolution(
            &ConvOperands::x, {c.n * c.groups, c.group_c(), c.x_channel_size(), 1, 1}, weights);
    }
  }

  // Projects dw over all filters: one channel of dy for each group, then the sum of the groups'
  // filters.
  std::vector<double> weight_gradient_projection(const std::vector<double>& weights) const {
    const Conv& c = conv_;
    const auto size = size_t(output_.rows());
    std::vector<double> sums;
    if (c.group_k() > 1) {
      sums = contracted_convolution(&ConvOperands::dy,
                                    {c.n * c.groups, c.group_k(), c.y_channel_size(), 1, c.groups},
                                    weights);
    } else {  // no operand is summed beforehand, so none is stored
      sums = direct_convolution(c, operands_);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] *= weights[i / size];
    }
    for (size_t i = size; i < sums.size(); ++i) sums[i % size] += sums[i];
    sums.resize(size);
    return sums;
  }

  // The projected convolution, with the operand `which` summed as `shape` describes.
  std::vector<double> contracted_convolution(ConvOperand ConvOperands::*which,
                                             const ContractionShape& shape,
                                             const std::vector<double>& weights) const {
    const std::vector<double> sum = contract(operands_.*which, shape, weights);
    ConvOperands operands = operands_;
    (operands.*which).stored = &sum;
    return direct_convolution(projected_conv(conv_).conv, operands);
  }

  const Conv conv_;
  const ConvOutput output_;
  const uint64_t seed_;  // seed of the places and weights
  const InputGenerator inputs_;
  const bool constant_;
  const bool judges_slope_;
  ConvOperands operands_;
  double output_roundoff_ = 0, sums_roundoff_ = 0, inputs_roundoff_ = 0, truncation_ = 0;
};

// Bytes that store_all_elements() takes for an operand.
double stored_bytes(int64_t size) { return size > kMaxStored ? 0 : 8 * double(size); }

}  // namespace

ExpectedOutput expected_conv_output(const Conv& conv, const KernelConditions& conditions) {
  const auto reference = std::make_shared<ConvReference>(conv, conditions);
  ExpectedOutput expected = reference->expected_output();
  if (reference->may_equal_poison())
    expected.elements_at = [reference](const std::vector<uint64_t>& indices) {
      return reference->elements_at(indices);
    };
  return expected;
}

double conv_reference_bytes(const Conv& conv) {
  const ConvOutput output = conv.output();
  if (checks_all_outputs(conv))
    return stored_bytes(conv.x_size()) + stored_bytes(conv.w_size()) + stored_bytes(conv.y_size()) +
           direct_convolution_bytes(conv) + 32 * double(output.size());
  // In addition to its sum, each row of the projection has a bound and the kernel's value.
  const ProjectedConv whole = projected_conv(conv);
  return direct_convolution_bytes(whole.conv) + 8 * double(whole.contracted_elements) +
         12 * double(output.slowest_extent()) + 16 * double(output.rows());
}

}  // namespace deepbench
