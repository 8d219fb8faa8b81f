// Which reference serves which problem.
#include "deepbench/ops/rnn/reference.hpp"

#include <string>

#include "deepbench/core/status.hpp"

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

}  // namespace

Evidence rnn_evidence(const Rnn& rnn) {
  if (rnn.is_forward()) return Evidence::kOutput;
  return fits_float64(rnn) ? Evidence::kInputs : Evidence::kReference;
}

Expectation expect_rnn(const Rnn& rnn, const Conditions& conditions) {
  require_reference(rnn);
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
