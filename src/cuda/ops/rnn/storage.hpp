// The layout of a recurrent layer's operands in device memory, which of them a call touches, and
// the memory that they take. Depends on no library and no device.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench::cuda {

// The reserve space holds the results that a forward pass in training stores for the gradients, and
// those that the data gradient passes to the weight gradient.
enum class LayerPart { kX, kWeights, kH0, kC0, kDy, kY, kReserve, kDx, kDh0, kDWeights };
inline constexpr LayerPart kLayerParts[] = {
    LayerPart::kX, LayerPart::kWeights, LayerPart::kH0, LayerPart::kC0,  LayerPart::kDy,
    LayerPart::kY, LayerPart::kReserve, LayerPart::kDx, LayerPart::kDh0, LayerPart::kDWeights};
inline constexpr size_t kLayerPartCount = 10;

// The layout of a library's weights, and of their gradient, in one block of memory.
struct WeightOffsets {
  uint64_t bytes = 0;
  // Offset of each gate's matrix [unit][j] in bytes, in the gate order of rnn.hpp.
  std::vector<uint64_t> u;
  // Offset of each bias vector in the same order; the rest of the block is zero.
  std::vector<uint64_t> b;
};

struct LayerStorage {
  Rnn rnn;
  deepbench_type type = DEEPBENCH_F32;  // the type of all operands
  WeightOffsets weights;
  uint64_t reserve_bytes = 0;
  bool changes_reserve = false;  // a data gradient modifies the reserve space

  uint64_t element_bytes() const { return uint64_t(size_of(type)); }
  uint64_t bytes(LayerPart part) const;   // 0 if the phase has no such part
  bool is_touched(LayerPart part) const;  // by the timed call, not only by the preceding passes
  uint64_t copies_of(LayerPart part, const plugin::CopyPlan& plan) const;
  bool needs_restore() const;      // whether calls need something restored between them
  uint64_t touched_bytes() const;  // bytes that one call touches, without the workspace
  // The memory of all copies, of what restores them, and of the temporary copies of weights and of
  // contiguous outputs.
  uint64_t needed_bytes(const plugin::CopyPlan& plan) const;
};

}  // namespace deepbench::cuda
