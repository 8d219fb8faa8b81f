// Which reference serves which problem.
#include "deepbench/ops/rnn/reference.hpp"

#include <string>

#include "deepbench/core/status.hpp"
#include "deepbench/ops/rnn/cell.hpp"

namespace deepbench {
namespace {

void require_reference(const Rnn& rnn) {
  const Precision precision = rnn.precision.precision;
  const std::string name(rnn.precision.name);
  if (precision == Precision::kFp8E4m3 || precision == Precision::kFp8E5m2)
    throw RowFailure(Status::kUnsupported,
                     "a recurrent layer cannot be verified in " + name + " yet");
  if (precision == Precision::kInt8 && !rnn.is_forward())
    throw RowFailure(Status::kUnsupported, "gradients cannot be verified in " + name);
}

// Of ones all sums have one sign: nothing cancels, neither values nor errors.
void require_random_signs(const Rnn& rnn, const KernelConditions& conditions) {
  if (conditions.inputs != "ones") return;
  if (rnn.cell == "vanilla")
    throw RowFailure(Status::kUnsupported,
                     "of ones, a vanilla layer grows beyond any range: inputs=uniform");
  if (rnn_reference_source(rnn) == ReferenceSource::kReferenceKernel)
    throw RowFailure(Status::kUnsupported,
                     "of ones, errors of gradients add up in one direction, and those of a layer "
                     "this large cannot be verified: inputs=uniform");
}

}  // namespace

ReferenceSource rnn_reference_source(const Rnn& rnn) {
  if (rnn.is_forward()) return ReferenceSource::kTestedOutput;
  return is_affordable_in_float64(rnn) ? ReferenceSource::kInputs
                                       : ReferenceSource::kReferenceKernel;
}

double rnn_reference_bytes(const Rnn& rnn) {
  const double inputs = 4 * double(rnn.timesteps) * double(rnn.batch);  // x, with one a step
  if (rnn_reference_source(rnn) != ReferenceSource::kInputs) return inputs;
  // Forward states, gradients of gates and their deviations, dy, and what is multiplied for dU;
  // weights twice in panels; outputs with their deviations.
  const auto gates = double(rnn.gates());
  const double state = double(sizeof(RnnCell::State)) + 12 * gates + 4 + 24;
  return inputs + state * double(rnn.sequence() + rnn.states()) + 12 * double(rnn.weights()) +
         32 * double(rnn.outputs());
}

ExpectedOutput expected_rnn_output(const Rnn& rnn, const KernelConditions& conditions) {
  require_reference(rnn);
  require_random_signs(rnn, conditions);
  switch (rnn_reference_source(rnn)) {
    case ReferenceSource::kInputs:
      return expected_float64_gradients(rnn, conditions);
    case ReferenceSource::kReferenceKernel:
      return expected_reference_kernel_gradients(rnn, conditions);
    case ReferenceSource::kTestedOutput:
      break;
  }
  return expected_forward_output(rnn, conditions);
}

}  // namespace deepbench
