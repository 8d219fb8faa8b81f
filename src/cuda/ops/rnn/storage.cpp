// The sizes of a recurrent layer's operands.
#include "ops/rnn/storage.hpp"

#include <algorithm>

#include "buffer.hpp"

namespace deepbench::cuda {

uint64_t LayerStorage::bytes(LayerPart part) const {
  const bool is_backward = !rnn.is_forward();
  const auto sized = [&](int64_t elements) {
    return saturating_multiply(uint64_t(elements), element_bytes());
  };
  switch (part) {
    case LayerPart::kX:
    case LayerPart::kY:
      return sized(rnn.sequence());
    case LayerPart::kWeights:
      return weights.bytes;
    case LayerPart::kH0:
      return sized(rnn.states());
    case LayerPart::kC0:
      return rnn.cell == "lstm" ? sized(rnn.states()) : 0;
    case LayerPart::kReserve:
      return reserve_bytes;
    case LayerPart::kDy:
    case LayerPart::kDx:
      return is_backward ? sized(rnn.sequence()) : 0;
    case LayerPart::kDh0:
      return is_backward ? sized(rnn.states()) : 0;
    case LayerPart::kDWeights:
      return rnn.has_weight_gradient() ? weights.bytes : 0;
  }
  return 0;
}

bool LayerStorage::is_touched(LayerPart part) const {
  if (bytes(part) == 0) return false;
  if (rnn.is_forward()) return true;
  switch (part) {
    case LayerPart::kX:
    case LayerPart::kDWeights:
      return rnn.has_weight_gradient();
    case LayerPart::kWeights:
    case LayerPart::kC0:
    case LayerPart::kDy:
    case LayerPart::kDx:
    case LayerPart::kDh0:
      return rnn.has_data_gradient();
    default:
      return true;
  }
}

uint64_t LayerStorage::copies_of(LayerPart part, const plugin::CopyPlan& plan) const {
  return is_touched(part) ? plan.copies : 1;
}

bool LayerStorage::needs_restore() const {
  return rnn.has_weight_gradient() || (changes_reserve && rnn.has_data_gradient());
}

uint64_t LayerStorage::touched_bytes() const {
  uint64_t total = 0;
  for (const LayerPart part : kLayerParts)
    if (is_touched(part)) total = saturating_add(total, bytes(part));
  return total;
}

uint64_t LayerStorage::needed_bytes(const plugin::CopyPlan& plan) const {
  uint64_t total = plan.flush_bytes;
  for (const LayerPart part : kLayerParts)
    total = saturating_add(total, Copies::needed_bytes(bytes(part), copies_of(part, plan)));
  if (needs_restore())
    total = saturating_add(total, rnn.has_weight_gradient() ? weights.bytes : reserve_bytes);
  const uint64_t in_order =
      rnn.is_forward() ? 0 : saturating_multiply(uint64_t(rnn.outputs()), element_bytes());
  return saturating_add(total, std::max(weights.bytes, in_order));
}

}  // namespace deepbench::cuda
