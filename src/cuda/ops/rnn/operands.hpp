// The operands of a recurrent layer in device memory: their creation, their restoration between
// calls, and the access to the outputs for verification.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "operand.hpp"
#include "ops/rnn/storage.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

class LayerOperands final : public Operands {
 public:
  LayerOperands(const LayerStorage& storage, const plugin::CopyPlan& plan, Inputs inputs,
                uint64_t seed, Stream& stream);

  const LayerStorage& storage() const { return storage_; }
  // Returns nullptr if the phase has no such part. A part that only the preceding passes use exists
  // in memory only once.
  void* at(LayerPart part, uint64_t copy) const;

  // Called after the passes that precede a gradient, which work on copy 0. Replicates their results
  // in all copies and saves those that calls change. `calls_between_restores` limits the number of
  // such calls.
  void save_preceding_passes(int64_t calls_between_restores);

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison_outputs() override;
  deepbench_scan scan_output(uint64_t copy) const override;
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read_output(uint64_t copy, const uint64_t* indices, size_t count,
                   double* values) const override;

 private:
  // Consecutive bytes of the output in the order of rnn.hpp.
  struct Piece {
    const std::byte* data;
    uint64_t bytes;
  };

  Copies& copies(LayerPart part) { return parts_[size_t(part)]; }
  const Copies& copies(LayerPart part) const { return parts_[size_t(part)]; }
  uint64_t elements(LayerPart part) const {
    return storage_.bytes(part) / storage_.element_bytes();
  }
  void fill_part(LayerPart part, uint32_t stream_number);
  void fill_weights();
  void fill_blocks(uint32_t stream_number, double scale, uint64_t block_elements,
                   const std::vector<uint64_t>& offsets);
  void poison_part(LayerPart part) const;
  int64_t calls_before_overflow() const;

  std::vector<Piece> output_pieces(uint64_t copy) const;
  Matrix output(void* data) const;
  // The output as one array. If it is not contiguous in memory, it is copied to `scratch`.
  Matrix contiguous_output(uint64_t copy, Buffer& scratch) const;

  LayerStorage storage_;
  Inputs inputs_;
  uint64_t seed_;
  Stream& stream_;
  std::array<Copies, kLayerPartCount> parts_;
  int64_t restore_every_;
  // The content that restore() writes: the reserve space, or the initial gradient of the weights.
  Buffer initial_;
};

}  // namespace deepbench::cuda
