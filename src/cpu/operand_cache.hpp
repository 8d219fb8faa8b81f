// Filled operands that outlive their kernel. Element i depends on its index, not on the operand's
// size, so that a large operand begins with every smaller one: the next row finds its inputs ready
// instead of filling them again, and a sweep over candidates fills them once.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "buffer.hpp"
#include "deepbench/fill.h"
#include "operand.hpp"

namespace deepbench::cpu {

class OperandCache {
 public:
  // Keeps operands of at most `limit_bytes` each; none at all with 0.
  explicit OperandCache(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // This process': an eighth of the memory for each operand. On machines with several memory nodes
  // nothing is kept: pages must lie with the threads that work on this very size.
  static OperandCache& instance();

  // `count` elements or more, which nobody may change.
  std::shared_ptr<const Buffer> get(deepbench_type type, uint64_t count, Inputs inputs,
                                    uint64_t seed, uint32_t stream);
  // Forgets all; what kernels still use lives on with them.
  void clear();

 private:
  struct Entry {
    deepbench_type type;
    Inputs inputs;
    uint64_t seed;
    uint32_t stream;
    std::shared_ptr<const Buffer> buffer;
  };

  const uint64_t limit_bytes_;
  std::mutex mutex_;
  std::vector<Entry> entries_;  // at most one for each stream
};

// require_memory(), which gives up the store before it gives up.
void require_memory_for_operands(uint64_t bytes);

}  // namespace deepbench::cpu
