// The operands of collectives in device memory.
#pragma once

#include <cstdint>

#include "deepbench/backend/collective_operands.hpp"
#include "device_memory.hpp"

namespace deepbench::cuda {

// The copies are not allocated from a pool, because other processes may get access to them.
class RankMemory : public DeviceMemory {
 public:
  explicit RankMemory(int device) : DeviceMemory(Stream::of(device)) {}

  using DeviceMemory::allocate;
  Copies allocate(uint64_t bytes, uint64_t copies) const {
    return {bytes, copies, AllocationKind::kDedicated};
  }
  void fill_summands(const Array& array, const plugin::Summands& summands) const;
};

using RankOperands = plugin::RankOperands<RankMemory>;
using CollectiveOperands = plugin::CollectiveOperands<RankMemory>;

}  // namespace deepbench::cuda

// Instantiated once, in operands.cpp.
extern template class deepbench::plugin::RankOperands<deepbench::cuda::RankMemory>;
extern template class deepbench::plugin::CollectiveOperands<deepbench::cuda::RankMemory>;
