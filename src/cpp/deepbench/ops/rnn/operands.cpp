// Fills operands with scaled generated elements, in parallel if there are many.
#include "deepbench/ops/rnn/operands.hpp"

#include "deepbench/core/parallel.hpp"

namespace deepbench {
namespace {

constexpr int64_t kMinThreadElements = 1 << 18;

bool is_weights(uint32_t stream) { return stream == Rnn::kStreamU || stream == Rnn::kStreamWx; }

// S7 if the kernel reports that its processor needs it.
deepbench_type integer_operand_type(const KernelConditions& conditions) {
  for (const auto& [operand, type] : conditions.fill)
    if (operand == "u" && type == "s7") return DEEPBENCH_S7;
  return DEEPBENCH_S8;
}

}  // namespace

RnnOperands::RnnOperands(const Rnn& rnn, const KernelConditions& conditions)
    : rnn_(rnn),
      inputs_(conditions.seed, conditions.inputs),
      integers_(integer_operand_type(conditions)) {
  rnn_.inputs = conditions.facts.integer("inputs", 1);
  bias_ = all_elements(Rnn::kStreamB, rnn_.biases() * rnn_.hidden);
  if (rnn_.inputs > 1) return;
  wx_ = all_elements(Rnn::kStreamWx, rnn_.gates() * rnn_.hidden);
  x_ = all_elements(Rnn::kStreamX, rnn_.timesteps * rnn_.batch);
}

deepbench_type RnnOperands::type_of(uint32_t stream) const {
  if (!rnn_.is_quantized()) return rnn_.precision.a;
  if (is_weights(stream)) return integers_;
  return stream == Rnn::kStreamX || stream == Rnn::kStreamH0 ? DEEPBENCH_S8 : DEEPBENCH_F32;
}

double RnnOperands::scale_of(uint32_t stream) const {
  const deepbench_type type = type_of(stream);
  if (!rnn_.is_quantized() || type == DEEPBENCH_F32)
    return stream == Rnn::kStreamU ? rnn_.recurrent_scale() : Rnn::kScale;
  return 1 / (is_weights(stream) ? rnn_.weights_scale(type) : Rnn::kDataScale);
}

void RnnOperands::fill(uint32_t stream, int64_t first, int64_t count, float* out) const {
  inputs_.fill(type_of(stream), stream, static_cast<uint64_t>(first), 1, count, out);
  const auto scale = static_cast<float>(scale_of(stream));
  for (int64_t i = 0; i < count; ++i) out[i] *= scale;
  if (rnn_.precision.a != DEEPBENCH_F16) return;
  for (int64_t i = 0; i < count; ++i)  // half's subnormals lose their last places by scaling
    out[i] = deepbench_from_half(deepbench_to_half(out[i]));
}

std::vector<float> RnnOperands::all_elements(uint32_t stream, int64_t count) const {
  std::vector<float> values(static_cast<size_t>(count));
  parallel_for(count, kMinThreadElements, [&](int64_t begin, int64_t end, int) {
    fill(stream, begin, end - begin, values.data() + begin);
  });
  return values;
}

double RnnOperands::element(uint32_t stream, int64_t index) const {
  float value;
  fill(stream, index, 1, &value);
  return value;
}

double RnnOperands::recurrent_mean_square() const {
  const double scale = rnn_.recurrent_scale();
  return scale * scale * inputs_.mean_square(rnn_.precision.a);
}

double RnnOperands::input_product(int64_t gate, int64_t unit, int64_t step,
                                  int64_t sequence) const {
  const int64_t sequence_step = step * rnn_.batch + sequence;
  if (rnn_.inputs == 1) return input_weight(gate, unit) * x_[static_cast<size_t>(sequence_step)];
  return element(Rnn::kStreamX, sequence_step * rnn_.hidden + unit);
}

}  // namespace deepbench
