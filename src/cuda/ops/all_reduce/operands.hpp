// The operands of an all_reduce in device memory.
#pragma once

#include <cstdint>

#include "deepbench/backend/all_reduce_operands.hpp"
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
using AllReduceOperands = plugin::AllReduceOperands<RankMemory>;

}  // namespace deepbench::cuda

// Instantiated once, in operands.cpp.
extern template class deepbench::plugin::RankOperands<deepbench::cuda::RankMemory>;
extern template class deepbench::plugin::AllReduceOperands<deepbench::cuda::RankMemory>;
