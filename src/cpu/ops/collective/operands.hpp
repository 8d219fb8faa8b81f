// The operands of collectives in host memory.
#pragma once

#include "deepbench/backend/collective_operands.hpp"
#include "host_memory.hpp"

namespace deepbench::cpu {

class RankMemory : public HostMemory {
 public:
  explicit RankMemory(int) {}  // the CPU is the only device

  void fill_summands(const Array& array, const plugin::Summands& summands) const;
};

using RankOperands = plugin::RankOperands<RankMemory>;
using CollectiveOperands = plugin::CollectiveOperands<RankMemory>;

}  // namespace deepbench::cpu

// Instantiated once, in operands.cpp.
extern template class deepbench::plugin::RankOperands<deepbench::cpu::RankMemory>;
extern template class deepbench::plugin::CollectiveOperands<deepbench::cpu::RankMemory>;
