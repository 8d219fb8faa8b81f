// The reference of gradients that are small enough to be computed in float64.
#include <cmath>

#include "deepbench/ops/rnn/gradient_parts.hpp"
#include "deepbench/ops/rnn/gradients.hpp"
#include "deepbench/ops/rnn/operands.hpp"
#include "deepbench/ops/rnn/reference.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 29;     // multiplications of one pass; the reference makes three
constexpr int64_t kMaxUnits = 1 << 21;    // over all steps; about 150 bytes each
constexpr int64_t kMaxWeights = 1 << 24;  // about 50 bytes each
constexpr int64_t kMaxChecked = 1 << 17;  // checked elements of a part

}  // namespace

bool is_affordable_in_float64(const Rnn& rnn) {
  return double(rnn.weights()) * double(rnn.batch) * double(rnn.timesteps) <= kFullWork &&
         rnn.sequence() <= kMaxUnits && rnn.weights() <= kMaxWeights;
}

ExpectedOutput expected_float64_gradients(const Rnn& rnn, const KernelConditions& conditions) {
  const RnnOperands operands(rnn, conditions);
  const std::vector<ValueWithError> all = RnnGradients(operands, conditions).run();
  // The absolute roundoff applies to the gates' gradients, and so to dx, which is their sum.
  const double smallest = RnnGradients::kDeviationsPerBound * rnn.precision.absolute_roundoff();
  ExpectedOutput expected;
  expected.outputs = all.size();
  for (const GradientPart& part : gradient_parts(operands.rnn())) {
    const size_t first = expected.indices.size();
    for (const uint64_t index : sample_part(part, kMaxChecked, conditions.verification_seed)) {
      const ValueWithError output =
          all[index].rounded(rnn.precision.output_roundoff / RnnGradients::kDeviationsPerBound);
      expected.indices.push_back(index);
      expected.values.push_back(output.value);
      expected.bounds.push_back(RnnGradients::kDeviationsPerBound * output.error + smallest);
    }
    if (conditions.inputs == "uniform")
      judge_together(rnn, part, first, RnnGradients::kDeviationsPerBound, expected);
  }
  expected.coverage = coverage_text(expected.indices.size(), int64_t(all.size()));
  return expected;
}

}  // namespace deepbench
