// Filled operands that outlive their kernel. An element depends on its index and not on the
// operand's size, so that a large operand begins with every smaller one: the next row finds its
// inputs filled, and a selection among candidates fills them once. Kernels that refill their
// operands do not take them from here.
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
  // Keeps operands of at most `limit_bytes` each; 0 disables the cache.
  explicit OperandCache(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // The cache of this process, for operands of up to an eighth of the memory each. It is disabled
  // on machines with several memory nodes, where pages must lie on the node of the threads that
  // work on this very size.
  static OperandCache& instance();

  // Returns a buffer of at least `count` elements, which is read-only.
  std::shared_ptr<const Buffer> get(deepbench_type type, uint64_t count, Inputs inputs,
                                    uint64_t seed, uint32_t stream);
  // Drops all operands. Those that kernels still use live until the kernels end.
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

// Works like require_memory(), but clears the cache before it gives up.
void require_memory_for_operands(uint64_t bytes);

}  // namespace deepbench::cpu
