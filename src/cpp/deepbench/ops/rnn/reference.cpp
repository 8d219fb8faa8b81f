// Chooses the reference of a problem.
#include "deepbench/ops/rnn/reference.hpp"

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "deepbench/core/status.hpp"
#include "deepbench/ops/rnn/cell.hpp"

namespace deepbench {
namespace {

void require_reference(const Rnn& rnn) {
  const Precision precision = rnn.precision.precision;
  const std::string name(rnn.precision.name);
  if (precision == Precision::kFp8E4m3 || precision == Precision::kFp8E5m2)
    throw RowFailure(Status::kUnsupported, "a recurrent layer cannot be verified in " + name + "");
  if (precision == Precision::kInt8 && !rnn.is_forward())
    throw RowFailure(Status::kUnsupported, "gradients cannot be verified in " + name);
}

// With inputs=ones all sums have one sign, so neither values nor errors cancel.
void require_random_signs(const Rnn& rnn, const KernelConditions& conditions) {
  if (conditions.inputs != "ones") return;
  if (rnn.cell == "vanilla")
    throw RowFailure(Status::kUnsupported,
                     "with inputs=ones a vanilla layer overflows; use inputs=uniform");
  if (rnn_reference_source(rnn) == ReferenceSource::kReferenceKernel)
    throw RowFailure(Status::kUnsupported,
                     "with inputs=ones the errors of gradients add up in one direction, and the "
                     "gradients of a layer of this size cannot be verified; use inputs=uniform");
}

ExpectedOutput expected_gradients(const Rnn& rnn, const KernelConditions& conditions) {
  if (rnn_reference_source(rnn) == ReferenceSource::kInputs)
    return expected_float64_gradients(rnn, conditions);
  return expected_reference_kernel_gradients(rnn, conditions);
}

// Calls in place add to dU, which is 0 at first, and overwrite the gradients of the data.
void add_initial_gradients(const Rnn& rnn, ExpectedOutput& expected) {
  const uint64_t first_of_weights = expected.outputs - uint64_t(rnn.du_elements());
  for (const uint64_t index : expected.indices)
    expected.initial_values.push_back(
        index < first_of_weights ? std::numeric_limits<double>::quiet_NaN() : 0);
}

// The sum of squares of the elements of dU.
double sum_of_squares(const std::vector<double>& values, const std::vector<double>& initial) {
  return std::inner_product(
      values.begin(), values.end(), initial.begin(), 0.0, std::plus<>(),
      [](double value, double first) { return std::isnan(first) ? 0 : value * value; });
}

// A library may round at every step of a call, so that a further call has the bound of the first
// one relative to the value that dU has by then.
void add_growth(const Rnn& rnn, ExpectedOutput& expected) {
  const double squares = sum_of_squares(expected.values, expected.initial_values);
  if (squares == 0) return;
  const double errors = sum_of_squares(expected.bounds, expected.initial_values);
  const size_t projections = rnn.has_data_gradient() ? 0 : expected.projections.size();
  expected.growth = {std::sqrt(2 * errors / squares), rnn.precision.largest_result(),
                     std::vector<double>(projections)};
}

}  // namespace

ReferenceSource rnn_reference_source(const Rnn& rnn) {
  if (rnn.is_forward()) return ReferenceSource::kTestedOutput;
  return is_affordable_in_float64(rnn) ? ReferenceSource::kInputs
                                       : ReferenceSource::kReferenceKernel;
}

double rnn_reference_bytes(const Rnn& rnn) {
  // The size of x, if each step has one input.
  const double inputs = 4 * double(rnn.timesteps) * double(rnn.batch);
  if (rnn_reference_source(rnn) != ReferenceSource::kInputs) return inputs;
  // Forward states, the gates' gradients and their deviations, dy and the factors of dU; the
  // weights twice in panels; the outputs with their deviations.
  const auto gates = double(rnn.gates());
  const double state = double(sizeof(RnnCell::State)) + 12 * gates + 4 + 24;
  return inputs + state * double(rnn.sequence() + rnn.states()) + 12 * double(rnn.weights()) +
         32 * double(rnn.outputs());
}

ExpectedOutput expected_rnn_output(const Rnn& rnn, const KernelConditions& conditions) {
  require_reference(rnn);
  require_random_signs(rnn, conditions);
  if (rnn_reference_source(rnn) == ReferenceSource::kTestedOutput)
    return expected_forward_output(rnn, conditions);
  ExpectedOutput expected = expected_gradients(rnn, conditions);
  if (!rnn.has_weight_gradient()) return expected;
  add_initial_gradients(rnn, expected);
  add_growth(rnn, expected);
  return expected;
}

}  // namespace deepbench
