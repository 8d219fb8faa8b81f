// The operands of a recurrent layer in device memory: how they come into being, what is brought
// back between calls, and what verification asks of the outputs.
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
  // nullptr where the phase has no such part. What only passes before the timed call touch lies in
  // memory once.
  void* at(LayerPart part, uint64_t copy) const;

  // After the passes that come before a gradient, which work on copy 0: what they left is brought
  // into all copies, and kept if calls change it. `calls_between_restores` is for such calls.
  void save_passes(int64_t calls_between_restores);

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison() override;
  deepbench_scan scan(uint64_t copy) const override;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const override;

 private:
  // Consecutive bytes of the output in rnn.hpp's order.
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

  std::vector<Piece> pieces(uint64_t copy) const;
  Matrix output(void* data) const;
  // The output as one array: where it does not lie so, in `scratch`.
  Matrix contiguous_output(uint64_t copy, Buffer& scratch) const;

  LayerStorage storage_;
  Inputs inputs_;
  uint64_t seed_;
  Stream& stream_;
  std::array<Copies, kLayerPartCount> parts_;
  int64_t restore_every_;
  Buffer initial_;  // what restore() brings back: the reserve space, or the weights' first gradient
};

}  // namespace deepbench::cuda
