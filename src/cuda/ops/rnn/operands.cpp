// Fills, restores, poisons and reads the operands of a recurrent layer.
#include "ops/rnn/operands.hpp"

#include <algorithm>
#include <cmath>

#include "ops/rnn/operand_kernels.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr int64_t kMaxCallsInRange = 1 << 20;
constexpr double kHalfRange = 65504;

}  // namespace

LayerOperands::LayerOperands(const LayerStorage& storage, const plugin::CopyPlan& plan,
                             Inputs inputs, uint64_t seed, Stream& stream)
    : storage_(storage),
      inputs_(inputs),
      seed_(seed),
      stream_(stream),
      restore_every_(calls_before_overflow()) {
  for (const LayerPart part : kLayerParts)
    copies(part) = Copies(storage.bytes(part), storage.copies_of(part, plan));
  fill_part(LayerPart::kX, Rnn::kStreamX);
  fill_part(LayerPart::kH0, Rnn::kStreamH0);
  fill_part(LayerPart::kC0, Rnn::kStreamC0);
  fill_part(LayerPart::kDy, Rnn::kStreamDy);
  fill_weights();
  if (storage.bytes(LayerPart::kReserve)) copies(LayerPart::kReserve).clear(stream);
  if (storage.rnn.has_weight_gradient()) {
    initial_ = Buffer(storage.weights.bytes);
    CUDA_CHECK(cudart().cudaMemsetAsync(initial_.data(), 0, initial_.bytes(), stream.get()));
    negate(initial_.data(), storage.type, elements(LayerPart::kDWeights), stream);
  }
  poison_outputs();
  stream.synchronize();
}

void* LayerOperands::at(LayerPart part, uint64_t copy) const {
  const Copies& all = copies(part);
  return all.bytes() == 0 ? nullptr : all.at(all.count() == 1 ? 0 : copy);
}

void LayerOperands::fill_part(LayerPart part, uint32_t stream_number) {
  if (storage_.bytes(part) == 0) return;
  fill_scaled(at(part, 0), storage_.type, elements(part), inputs_, seed_, stream_number,
              Rnn::kScale, stream_);
  copies(part).replicate(stream_);
}

void LayerOperands::fill_weights() {
  const Rnn& rnn = storage_.rnn;
  CUDA_CHECK(cudart().cudaMemsetAsync(at(LayerPart::kWeights, 0), 0, storage_.weights.bytes,
                                      stream_.get()));
  fill_blocks(Rnn::kStreamU, rnn.recurrent_scale(), uint64_t(rnn.hidden * rnn.hidden),
              storage_.weights.u);
  fill_blocks(Rnn::kStreamB, Rnn::kScale, uint64_t(rnn.hidden), storage_.weights.b);
  copies(LayerPart::kWeights).replicate(stream_);
}

// Fills consecutive blocks in the problem's order and copies each to its offset.
void LayerOperands::fill_blocks(uint32_t stream_number, double scale, uint64_t block_elements,
                                const std::vector<uint64_t>& offsets) {
  const uint64_t bytes = block_elements * storage_.element_bytes();
  const Buffer plain(bytes * offsets.size());
  fill_scaled(plain.data(), storage_.type, block_elements * offsets.size(), inputs_, seed_,
              stream_number, scale, stream_);
  auto* const weights = static_cast<std::byte*>(at(LayerPart::kWeights, 0));
  for (size_t i = 0; i < offsets.size(); ++i)
    copy_on_device(weights + offsets[i], plain.data() + i * bytes, bytes, stream_);
}

void LayerOperands::save_preceding_passes(int64_t calls_between_restores) {
  if (!storage_.rnn.is_forward()) {
    copies(LayerPart::kY).replicate(stream_);
    copies(LayerPart::kReserve).replicate(stream_);
  }
  if (storage_.needs_restore() && !storage_.rnn.has_weight_gradient()) {
    initial_ = Buffer(storage_.reserve_bytes);
    copy_on_device(initial_.data(), at(LayerPart::kReserve, 0), initial_.bytes(), stream_);
    restore_every_ = calls_between_restores;
  }
  poison_outputs();
}

void LayerOperands::restore() {
  if (!storage_.needs_restore()) return;
  const LayerPart part =
      storage_.rnn.has_weight_gradient() ? LayerPart::kDWeights : LayerPart::kReserve;
  if (initial_.bytes() == 0) return;  // save_preceding_passes() has not been called yet
  for (uint64_t i = 0; i < copies(part).count(); ++i)
    copy_on_device(at(part, i), initial_.data(), initial_.bytes(), stream_);
  if (storage_.rnn.has_weight_gradient()) return;
  poison_part(LayerPart::kDx);
  poison_part(LayerPart::kDh0);
}

void LayerOperands::poison_outputs() {
  if (storage_.needs_restore()) return restore();
  if (storage_.rnn.is_forward()) return poison_part(LayerPart::kY);
  poison_part(LayerPart::kDx);
  poison_part(LayerPart::kDh0);
}

void LayerOperands::poison_part(LayerPart part) const {
  for (uint64_t i = 0; i < copies(part).count(); ++i)
    cuda::poison(Matrix{at(part, i), storage_.type, elements(part), 1, 1, 0}, stream_);
}

std::vector<LayerOperands::Piece> LayerOperands::output_pieces(uint64_t copy) const {
  const Rnn& rnn = storage_.rnn;
  const auto piece = [&](LayerPart part) {
    return Piece{static_cast<const std::byte*>(at(part, copy)), storage_.bytes(part)};
  };
  std::vector<Piece> all;
  if (rnn.is_forward()) all.push_back(piece(LayerPart::kY));
  if (rnn.has_data_gradient()) {
    all.push_back(piece(LayerPart::kDx));
    all.push_back(piece(LayerPart::kDh0));
  }
  if (!rnn.has_weight_gradient()) return all;
  const uint64_t gate_bytes = uint64_t(rnn.hidden * rnn.hidden) * storage_.element_bytes();
  for (const uint64_t offset : storage_.weights.u)
    all.push_back({piece(LayerPart::kDWeights).data + offset, gate_bytes});
  return all;
}

Matrix LayerOperands::output(void* data) const {
  return {data, storage_.type, uint64_t(storage_.rnn.outputs()), 1, 1, 0};
}

Matrix LayerOperands::contiguous_output(uint64_t copy, Buffer& scratch) const {
  const std::vector<Piece> all = output_pieces(copy);
  if (all.size() == 1) return output(const_cast<std::byte*>(all[0].data));
  scratch = Buffer(uint64_t(storage_.rnn.outputs()) * storage_.element_bytes());
  std::byte* to = scratch.data();
  for (const Piece& piece : all) {
    copy_on_device(to, piece.data, piece.bytes, stream_);
    to += piece.bytes;
  }
  return output(scratch.data());
}

deepbench_scan LayerOperands::scan_output(uint64_t copy) const {
  Buffer scratch;
  const Matrix matrix = contiguous_output(copy, scratch);
  // All initial elements of dU are zeros with the same bit pattern, so any of them can be compared
  // with.
  return cuda::scan(matrix, storage_.rnn.has_weight_gradient() ? initial_.data() : nullptr,
                    stream_);
}

void LayerOperands::project_output(uint64_t copy, uint64_t rows, uint64_t seed,
                                   double* sums) const {
  Buffer scratch;
  cuda::project(contiguous_output(copy, scratch), rows, seed, sums, stream_);
}

void LayerOperands::read_output(uint64_t copy, const uint64_t* indices, size_t count,
                                double* values) const {
  Buffer scratch;
  cuda::read(contiguous_output(copy, scratch), indices, count, values, stream_);
}

// The elements of dU are sums of timesteps * batch products, which rarely exceed 8 times the square
// root of that number.
int64_t LayerOperands::calls_before_overflow() const {
  if (!storage_.rnn.has_weight_gradient() || storage_.type != DEEPBENCH_F16)
    return kMaxCallsInRange;
  const double summands = double(storage_.rnn.timesteps) * double(storage_.rnn.batch);
  return std::max<int64_t>(1, int64_t(kHalfRange / (8 * std::sqrt(summands))));
}

void LayerOperands::describe(plugin::Sink& sink) const {
  sink.integer("inputs", storage_.rnn.inputs);
  sink.text("note.inputs",
            "the input product is skipped: x has as many elements per step as the layer has "
            "units, and they are added to every gate");
  if (!storage_.needs_restore()) return;
  sink.integer("in_place", 1);
  sink.integer("restore_every", restore_every_);
}

}  // namespace deepbench::cuda
