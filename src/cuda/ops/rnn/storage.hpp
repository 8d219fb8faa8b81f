// Where the operands of a recurrent layer lie in device memory, which of them a call touches, and
// how much memory that takes. Knows no library and no device.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench::cuda {

// The reserve space is what a forward pass in training keeps for the gradients, and what the
// gradient of the data leaves to that of the weights.
enum class LayerPart { kX, kWeights, kH0, kC0, kDy, kY, kReserve, kDx, kDh0, kDWeights };
inline constexpr LayerPart kLayerParts[] = {
    LayerPart::kX, LayerPart::kWeights, LayerPart::kH0, LayerPart::kC0,  LayerPart::kDy,
    LayerPart::kY, LayerPart::kReserve, LayerPart::kDx, LayerPart::kDh0, LayerPart::kDWeights};
inline constexpr size_t kLayerPartCount = 10;

// A library's weights, and their gradient: one block of memory.
struct WeightOffsets {
  uint64_t bytes = 0;
  std::vector<uint64_t> u;  // of each gate [unit][j], in bytes, by rnn.hpp's numbers of gates
  std::vector<uint64_t> b;  // of each bias vector, likewise; all else of the block is zero
};

struct LayerStorage {
  Rnn rnn;
  deepbench_type type = DEEPBENCH_F32;  // of all operands
  WeightOffsets weights;
  uint64_t reserve_bytes = 0;
  bool changes_reserve =
      false;  // a gradient of the data leaves another reserve space than it found

  uint64_t element_bytes() const { return uint64_t(size_of(type)); }
  uint64_t bytes(LayerPart part) const;   // 0: the phase has no such part
  bool is_touched(LayerPart part) const;  // by the timed call, not only by those before it
  uint64_t copies_of(LayerPart part, const plugin::CopyPlan& plan) const;
  bool restores() const;           // something between calls
  uint64_t touched_bytes() const;  // by one call, the workspace aside
  // Of all copies, what restores them, and room for weights on their way and outputs in order.
  uint64_t needed_bytes(const plugin::CopyPlan& plan) const;
};

}  // namespace deepbench::cuda
