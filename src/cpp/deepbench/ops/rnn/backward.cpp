// The reference of gradients that float64 can do in full.
#include <cmath>

#include "deepbench/ops/rnn/gradients.hpp"
#include "deepbench/ops/rnn/operands.hpp"
#include "deepbench/ops/rnn/parts.hpp"
#include "deepbench/ops/rnn/reference.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 29;      // multiplications of a pass, of which it makes three
constexpr int64_t kMostUnits = 1 << 21;    // of all steps, some 150 bytes each
constexpr int64_t kMostWeights = 1 << 24;  // some 50 bytes each
constexpr int64_t kMostChecked = 1 << 17;  // elements of a part

}  // namespace

bool fits_float64(const Rnn& rnn) {
  return double(rnn.weights()) * double(rnn.batch) * double(rnn.timesteps) <= kFullWork &&
         rnn.sequence() <= kMostUnits && rnn.weights() <= kMostWeights;
}

Expectation expect_gradients(const Rnn& rnn, const Conditions& conditions) {
  const RnnOperands operands(rnn, conditions);
  const std::vector<Approximate> all = RnnGradients(operands, conditions).run();
  // Of the gradients of gates, which dx adds up, too.
  const double smallest = RnnGradients::kSpread * rnn.precision.smallest_rounding();
  Expectation expected;
  expected.outputs = all.size();
  for (const RnnPart& part : gradient_parts(operands.rnn())) {
    for (const uint64_t index : sample_part(part, kMostChecked)) {
      const Approximate output =
          all[index].rounded(rnn.precision.output_roundoff / RnnGradients::kSpread);
      expected.indices.push_back(index);
      expected.values.push_back(output.value);
      expected.bounds.push_back(RnnGradients::kSpread * output.error + smallest);
    }
  }
  expected.what = checked_share(expected.indices.size(), int64_t(all.size()));
  return expected;
}

}  // namespace deepbench
