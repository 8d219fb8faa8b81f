// The reference of gradients that are too large for float64: an independent computation by the
// backend, compared at sampled elements and by a projection of the whole. Small problems check this
// reference kernel against float64.
//
// A layer of few units, sequences and steps in float64 shows how far two computations in float may
// differ: the bound is its deviations relative to its values, with the accumulators' roundoff
// raised by the root of the ratio of summed terms. Both sides may have this error.
//
// In addition ReLU has a kink. Where a sum is almost zero, two forward passes take different
// slopes, which happens to about one unit in a million, and from there on differ by this unit's
// full contribution. A reference kernel that starts from the h(t) of the tested forward pass knows
// which side the library took and needs no allowance. For others kUnitShare allows for a unit with
// a large contribution: in an element that sums `terms` units, a typical unit contributes sqrt(2 /
// terms) of the element's size.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "deepbench/ops/rnn/gradient_parts.hpp"
#include "deepbench/ops/rnn/gradients.hpp"
#include "deepbench/ops/rnn/operands.hpp"
#include "deepbench/ops/rnn/reference.hpp"

namespace deepbench {
namespace {

constexpr int64_t kModelUnits = 128, kModelBatch = 2, kModelSteps = 32;
constexpr double kModelQuantile = 0.99;
constexpr int64_t kMaxCompared = 1 << 16;  // compared elements of a part
constexpr uint64_t kMaxRows = 1 << 12;     // rows of the projection
constexpr double kSides = 2;  // number of computations that may have the error of a bound
constexpr double kUnitShare = 20;
constexpr double kFlippedUnitsFraction = 1e-6;  // fraction of all units

double root_mean_square(const double* values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += values[i] * values[i];
  return std::sqrt(sum / double(count));
}

// The error bound of an element of each part, relative to the part's root mean square.
std::vector<double> relative_bounds(const Rnn& rnn, const KernelConditions& conditions) {
  Rnn model = rnn;
  model.hidden = std::min(rnn.hidden, kModelUnits);
  model.batch = std::min(rnn.batch, kModelBatch);
  model.timesteps = std::min(rnn.timesteps, kModelSteps);
  const double units = double(rnn.hidden) / double(model.hidden);
  const double steps = double(rnn.batch * rnn.timesteps) / double(model.batch * model.timesteps);
  model.precision.sum_roundoff *= std::sqrt(std::max(units, steps));
  KernelConditions model_conditions = conditions;
  model_conditions.facts.set("inputs", rnn.inputs == 1 ? int64_t{1} : model.hidden);
  const RnnOperands operands(model, model_conditions);
  const std::vector<ValueWithError> all = RnnGradients(operands, model_conditions).run();

  std::vector<double> bounds;
  for (const GradientPart& part : gradient_parts(operands.rnn())) {
    std::vector<double> values, errors;
    for (int64_t i = part.first; i < part.first + part.count; ++i) {
      values.push_back(all[size_t(i)].value);
      errors.push_back(all[size_t(i)].error);
    }
    const auto quantile = errors.begin() + int64_t(kModelQuantile * double(errors.size() - 1));
    std::nth_element(errors.begin(), quantile, errors.end());
    const double size = root_mean_square(values.data(), values.size());
    bounds.push_back(size > 0 ? rnn.precision.output_roundoff +
                                    RnnGradients::kDeviationsPerBound * *quantile / size
                              : 0);
  }
  return bounds;
}

class ReferenceKernelGradients {
 public:
  ReferenceKernelGradients(const RnnOperands& operands, const KernelConditions& conditions)
      : rnn_(operands.rnn()),
        computed_(*conditions.computed_output),
        seed_(conditions.verification_seed),
        from_tested_forward_(conditions.from_tested_forward),
        relu_side_unknown_(rnn_.cell == "vanilla" && !from_tested_forward_),
        judges_together_(conditions.inputs == "uniform"),
        parts_(gradient_parts(rnn_)),
        relative_(relative_bounds(rnn_, conditions)) {}

  ExpectedOutput expected_output() {
    expected_.outputs = static_cast<uint64_t>(rnn_.outputs());
    for (size_t i = 0; i < parts_.size(); ++i) add_part(parts_[i], kSides * relative_[i]);
    add_projection();
    expected_.coverage = coverage_text(expected_.indices.size(), rnn_.outputs()) + " and " +
                         std::to_string(expected_.projection_rows) +
                         " projections of all, from a computation by the backend";
    if (from_tested_forward_) expected_.coverage += " that starts from the tested h(t)";
    if (relu_side_unknown_)
      expected_.coverage +=
          ", within wide bounds: rounding may move units to the other side of ReLU's kink";
    return std::move(expected_);
  }

 private:
  void add_part(const GradientPart& part, double relative) {
    const std::vector<uint64_t> indices = sample_grid(part, kMaxCompared, seed_);
    const std::vector<double> values = computed_.elements(indices);
    const double size = root_mean_square(values.data(), values.size());
    const double unit = relu_side_unknown_ ? size * std::sqrt(2 / double(part.terms)) : 0;
    const double bound = relative * size + kUnitShare * unit;
    const size_t first = expected_.indices.size();
    expected_.indices.insert(expected_.indices.end(), indices.begin(), indices.end());
    expected_.values.insert(expected_.values.end(), values.begin(), values.end());
    expected_.bounds.insert(expected_.bounds.end(), values.size(), bound);
    if (judges_together_ && !relu_side_unknown_)
      judge_together(rnn_, part, first, kSides * RnnGradients::kDeviationsPerBound, expected_);

    // A flipped unit affects one element of dx, and `hidden` elements of dh0 and dU.
    const double flips = 4 + kFlippedUnitsFraction * double(rnn_.sequence());
    const double affected = std::min(double(part.count), flips * double(rnn_.hidden));
    energy_ += double(part.count) * relative * relative * size * size +
               RnnGradients::kDeviationsPerBound * RnnGradients::kDeviationsPerBound * affected *
                   unit * unit;
    largest_ = std::max(largest_, kUnitShare * unit);
  }

  // With random weights the error of a projected row is the root of its elements' squared errors,
  // or one large error. The number of rows divides each part and each row of dU, so the projection
  // is cheap to compute.
  void add_projection() {
    const int64_t divisor =
        std::gcd(std::gcd(rnn_.dx_elements(), rnn_.dh0_elements()), rnn_.hidden);
    const auto power_of_two = uint64_t(divisor & -divisor);
    expected_.projection_rows = std::min(power_of_two, kMaxRows);
    expected_.projection_seed = seed_;
    expected_.projections = computed_.project(expected_.projection_rows, expected_.outputs, seed_);
    const double bound = std::sqrt(energy_ / double(expected_.projection_rows)) + largest_;
    expected_.projection_bounds.assign(expected_.projections.size(), bound);
  }

  const Rnn& rnn_;
  ComputedOutput& computed_;
  const uint64_t seed_;  // seed of the places and weights
  const bool from_tested_forward_, relu_side_unknown_, judges_together_;
  const std::vector<GradientPart> parts_;
  const std::vector<double> relative_;
  ExpectedOutput expected_;
  double energy_ = 0, largest_ = 0;
};

}  // namespace

ExpectedOutput expected_reference_kernel_gradients(const Rnn& rnn,
                                                   const KernelConditions& conditions) {
  const RnnOperands operands(rnn, conditions);
  return ReferenceKernelGradients(operands, conditions).expected_output();
}

}  // namespace deepbench
