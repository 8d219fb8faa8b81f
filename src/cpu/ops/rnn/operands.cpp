// Allocates, fills and checks a recurrent layer's operands.
#include "ops/rnn/operands.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "deepbench/backend/output_checks.hpp"
#include "deepbench/plugin.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kScaleGrain = 1 << 15;  // elements
constexpr int64_t kGatherTile = 32;        // rows and columns

constexpr LayerPart kAllParts[] = {LayerPart::kX,  LayerPart::kBias, LayerPart::kH0,
                                   LayerPart::kC0, LayerPart::kDy,   LayerPart::kY,
                                   LayerPart::kDx, LayerPart::kDh0,  LayerPart::kDu};
constexpr LayerPart kOutputParts[] = {LayerPart::kY, LayerPart::kDx, LayerPart::kDh0,
                                      LayerPart::kDu};

float rounded_to_bfloat16(float value) {
  return deepbench_from_bfloat16(deepbench_to_bfloat16(value));
}

// The scale is a power of two, so that the multiplication is exact.
void scale_floats(float* values, uint64_t begin, uint64_t end, float scale, bool from_bfloat16) {
  for (uint64_t i = begin; i < end; ++i)
    values[i] = scale * (from_bfloat16 ? rounded_to_bfloat16(values[i]) : values[i]);
}

void scale_bfloat16(uint16_t* values, uint64_t begin, uint64_t end, float scale) {
  for (uint64_t i = begin; i < end; ++i)
    values[i] = deepbench_to_bfloat16(scale * deepbench_from_bfloat16(values[i]));
}

}  // namespace

WeightStrides plain_strides(const Rnn& rnn) {
  return {rnn.hidden * rnn.hidden, rnn.hidden, 1, uint64_t(rnn.weights())};
}

deepbench_type LayerStorage::type(LayerPart part) const {
  const bool is_state =
      part == LayerPart::kX || part == LayerPart::kH0 || (part == LayerPart::kY && !is_quantized());
  return is_state ? states : DEEPBENCH_F32;
}

uint64_t LayerStorage::plain_weight_bytes() const {
  const int64_t transposed = is_quantized() ? size_of(plain_weights()) : 0;
  return uint64_t(rnn.weights() * (size_of(plain_weights()) + transposed));
}

uint64_t LayerStorage::elements(LayerPart part) const {
  switch (part) {
    case LayerPart::kX:
      return uint64_t(rnn.timesteps * rnn.batch * rnn.inputs);
    case LayerPart::kBias:
      return uint64_t(rnn.biases() * rnn.hidden);
    case LayerPart::kH0:
      return uint64_t(rnn.states());
    case LayerPart::kC0:
      return rnn.cell == "lstm" ? uint64_t(rnn.states()) : 0;
    case LayerPart::kDy:
      return rnn.is_forward() ? 0 : uint64_t(rnn.sequence());
    case LayerPart::kY:
      return rnn.is_forward() ? uint64_t(rnn.sequence()) : 0;
    case LayerPart::kDx:
      return uint64_t(rnn.dx_elements());
    case LayerPart::kDh0:
      return uint64_t(rnn.dh0_elements());
    case LayerPart::kDu:
      return rnn.has_weight_gradient() ? du.elements : 0;
  }
  return 0;
}

uint64_t LayerStorage::bytes(LayerPart part) const {
  return saturating_multiply(elements(part), uint64_t(size_of(type(part))));
}

uint64_t LayerStorage::touched_bytes() const {
  uint64_t total = weight_bytes;
  for (const LayerPart part : kAllParts) total = saturating_add(total, bytes(part));
  return total;
}

uint64_t LayerStorage::needed_bytes(const CopyPlan& plan) const {
  uint64_t total =
      saturating_add(Copies::needed_bytes(weight_bytes, plan.copies), plan.flush_bytes);
  for (const LayerPart part : kAllParts)
    total = saturating_add(total, Copies::needed_bytes(bytes(part), plan.copies));
  if (rnn.is_forward()) return total;
  // outputs_in_order() allocates a buffer for all outputs.
  return saturating_add(total, uint64_t(rnn.outputs()) * sizeof(float));
}

LayerOperands::LayerOperands(const LayerStorage& storage, const CopyPlan& plan, Inputs inputs,
                             uint64_t seed)
    : storage_(storage),
      inputs_(inputs),
      seed_(seed),
      copies_(plan.copies),
      is_forward_(storage.rnn.is_forward()),
      dx_elements_(storage.elements(LayerPart::kDx)),
      dh0_elements_(storage.elements(LayerPart::kDh0)),
      outputs_(uint64_t(storage.rnn.outputs())) {
  for (const LayerPart part : kAllParts)
    parts_[size_t(part)] = Copies(storage.bytes(part), copies_);
  fill_part(LayerPart::kX, Rnn::kStreamX);
  fill_part(LayerPart::kBias, Rnn::kStreamB);
  fill_part(LayerPart::kH0, Rnn::kStreamH0);
  fill_part(LayerPart::kC0, Rnn::kStreamC0);
  fill_part(LayerPart::kDy, Rnn::kStreamDy);
  poison_outputs();
}

void LayerOperands::fill_part(LayerPart part, uint32_t stream) {
  if (storage_.elements(part) == 0) return;
  if (storage_.type(part) == DEEPBENCH_U8)
    fill_shifted(at(part, 0), storage_.elements(part), stream);
  else
    fill_scaled(at(part, 0), storage_.type(part), storage_.elements(part), stream, Rnn::kScale);
  parts_[size_t(part)].replicate();
}

void LayerOperands::fill_scaled(void* data, deepbench_type stored, uint64_t count, uint32_t stream,
                                double scale) const {
  fill(data, stored, count, inputs_, seed_, stream);
  const bool from_bfloat16 = rnn().precision.a == DEEPBENCH_BF16;
  host_workers().parallel_for(count, kScaleGrain, [&](uint64_t begin, uint64_t end, size_t) {
    if (stored == DEEPBENCH_BF16)
      scale_bfloat16(static_cast<uint16_t*>(data), begin, end, float(scale));
    else
      scale_floats(static_cast<float*>(data), begin, end, float(scale), from_bfloat16);
  });
}

void LayerOperands::fill_shifted(void* data, uint64_t count, uint32_t stream) const {
  fill(data, DEEPBENCH_S8, count, inputs_, seed_, stream);
  auto* const bytes = static_cast<uint8_t*>(data);
  host_workers().parallel_for(count, kScaleGrain, [&](uint64_t begin, uint64_t end, size_t) {
    for (uint64_t i = begin; i < end; ++i) bytes[i] ^= 0x80;
  });
}

void LayerOperands::fill_integers(float* data, uint64_t count, uint32_t stream) const {
  Buffer integers(count);
  fill(integers.data(), storage_.integers, count, inputs_, seed_, stream);
  const auto* const from = reinterpret_cast<const int8_t*>(integers.data());
  const auto scale = float(1 / rnn().weights_scale(storage_.integers));
  host_workers().parallel_for(count, kScaleGrain, [&](uint64_t begin, uint64_t end, size_t) {
    for (uint64_t i = begin; i < end; ++i) data[i] = scale * float(from[i]);
  });
}

Buffer LayerOperands::weights(uint32_t stream, double scale, int64_t columns) const {
  const auto elements = uint64_t(rnn().gates() * rnn().hidden * columns);
  Buffer made(elements * uint64_t(size_of(storage_.plain_weights())));
  if (storage_.is_quantized())
    fill_integers(reinterpret_cast<float*>(made.data()), elements, stream);
  else
    fill_scaled(made.data(), storage_.states, elements, stream, scale);
  return made;
}

void LayerOperands::describe(plugin::Sink& sink) const {
  sink.integer("inputs", rnn().inputs);
  if (rnn().cell == "lstm") sink.text("cell_state", "float");
  if (storage_.integers != DEEPBENCH_S7) return;
  sink.text("fill.wx", "s7");
  sink.text("fill.u", "s7");
  sink.text("note.weights",
            "U and Wx hold integers in [-64, 63]: without VNNI, products of 8-bit integers pass "
            "through 16-bit sums, which saturate for the full range");
}

void LayerOperands::poison_outputs() {
  for (const LayerPart part : kOutputParts) {
    if (storage_.elements(part) == 0) continue;
    for (uint64_t copy = 0; copy < copies_; ++copy)
      cpu::poison(at(part, copy), storage_.type(part), storage_.elements(part));
  }
}

deepbench_type LayerOperands::output_type() const {
  return is_forward_ ? storage_.type(LayerPart::kY) : DEEPBENCH_F32;
}

deepbench_scan LayerOperands::scan_output(uint64_t copy) const {
  const bool has_gaps = storage_.elements(LayerPart::kDu) != uint64_t(rnn().du_elements());
  if (is_forward_ || has_gaps) return cpu::scan(outputs_in_order(copy), output_type(), outputs_);
  deepbench_scan all = {};
  for (const LayerPart part : {LayerPart::kDx, LayerPart::kDh0, LayerPart::kDu}) {
    if (storage_.elements(part) == 0) continue;
    const deepbench_scan one = cpu::scan(at(part, copy), DEEPBENCH_F32, storage_.elements(part));
    all.count += one.count, all.untouched += one.untouched, all.non_finite += one.non_finite;
  }
  return all;
}

void LayerOperands::project_output(uint64_t copy, uint64_t rows, uint64_t seed,
                                   double* sums) const {
  cpu::project(outputs_in_order(copy), output_type(), outputs_, rows, seed, sums);
}

void LayerOperands::read_output(uint64_t copy, const uint64_t* indices, size_t count,
                                double* values) const {
  for (size_t i = 0; i < count; ++i) {
    plugin::require_element(indices[i], outputs_);
    values[i] = output_element(copy, indices[i]);
  }
}

double LayerOperands::output_element(uint64_t copy, uint64_t index) const {
  if (is_forward_) return element(at(LayerPart::kY, copy), output_type(), index);
  if (index < dx_elements_) return element(at(LayerPart::kDx, copy), DEEPBENCH_F32, index);
  index -= dx_elements_;
  if (index < dh0_elements_) return element(at(LayerPart::kDh0, copy), DEEPBENCH_F32, index);
  index -= dh0_elements_;
  const int64_t hidden = rnn().hidden;
  const int64_t row = int64_t(index) / hidden, j = int64_t(index) % hidden;
  const WeightStrides& du = storage_.du;
  const int64_t offset = row / hidden * du.gate + row % hidden * du.unit + j * du.j;
  return element(at(LayerPart::kDu, copy), DEEPBENCH_F32, uint64_t(offset));
}

const void* LayerOperands::outputs_in_order(uint64_t copy) const {
  if (is_forward_) return at(LayerPart::kY, copy);
  // Allocated once, because new pages are slow.
  if (!ordered_.data()) ordered_ = Buffer(outputs_ * sizeof(float));
  std::byte* to = ordered_.data();
  for (const LayerPart part : {LayerPart::kDx, LayerPart::kDh0}) {
    const uint64_t bytes = storage_.bytes(part);
    if (bytes > 0) std::memcpy(to, at(part, copy), bytes);
    to += bytes;
  }
  if (rnn().has_weight_gradient())
    gather_du(static_cast<const float*>(at(LayerPart::kDu, copy)), reinterpret_cast<float*>(to));
  return ordered_.data();
}

// Copies in tiles, because one side of the transposition accesses a new cache line for each
// element.
void LayerOperands::gather_du(const float* from, float* to) const {
  const WeightStrides& du = storage_.du;
  const int64_t hidden = rnn().hidden, rows = rnn().gates() * hidden;
  host_workers().parallel_for(
      uint64_t(rows), kGatherTile, [&](uint64_t begin, uint64_t end, size_t) {
        for (auto first = int64_t(begin); first < int64_t(end); first += kGatherTile)
          for (int64_t column = 0; column < hidden; column += kGatherTile)
            for (int64_t row = first; row < std::min(first + kGatherTile, int64_t(end)); ++row) {
              const float* const line = from + row / hidden * du.gate + row % hidden * du.unit;
              for (int64_t j = column; j < std::min(column + kGatherTile, hidden); ++j)
                to[row * hidden + j] = line[j * du.j];
            }
      });
}

}  // namespace deepbench::cpu
