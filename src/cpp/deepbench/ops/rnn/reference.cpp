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
void require_random_signs(const Rnn& rnn, const Conditions& conditions) {
  if (conditions.inputs != "ones") return;
  if (rnn.cell == "vanilla")
    throw RowFailure(Status::kUnsupported,
                     "of ones, a vanilla layer grows beyond any range: inputs=uniform");
  if (rnn_evidence(rnn) == Evidence::kReference)
    throw RowFailure(Status::kUnsupported,
                     "of ones, errors of gradients add up in one direction, and those of a layer "
                     "this large cannot be verified: inputs=uniform");
}

}  // namespace

Evidence rnn_evidence(const Rnn& rnn) {
  if (rnn.is_forward()) return Evidence::kOutput;
  return fits_float64(rnn) ? Evidence::kInputs : Evidence::kReference;
}

double rnn_reference_bytes(const Rnn& rnn) {
  const double inputs = 4 * double(rnn.timesteps) * double(rnn.batch);  // x, with one a step
  if (rnn_evidence(rnn) != Evidence::kInputs) return inputs;
  // Forward states, gradients of gates and their deviations, dy, and what is multiplied for dU;
  // weights twice in panels; outputs with their deviations.
  const auto gates = double(rnn.gates());
  const double state = double(sizeof(RnnCell::State)) + 12 * gates + 4 + 24;
  return inputs + state * double(rnn.sequence() + rnn.states()) + 12 * double(rnn.weights()) +
         32 * double(rnn.outputs());
}

Expectation expect_rnn(const Rnn& rnn, const Conditions& conditions) {
  require_reference(rnn);
  require_random_signs(rnn, conditions);
  switch (rnn_evidence(rnn)) {
    case Evidence::kInputs:
      return expect_gradients(rnn, conditions);
    case Evidence::kReference:
      return expect_composed_gradients(rnn, conditions);
    case Evidence::kOutput:
      break;
  }
  return expect_forward(rnn, conditions);
}

}  // namespace deepbench
