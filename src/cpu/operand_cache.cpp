// Lookup and reuse of filled operands.
#include "operand_cache.hpp"

#include <algorithm>

#include "cgroup_limits.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/plugin.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

OperandCache& OperandCache::instance() {
  constexpr int64_t kShareOfMemory = 8;
  static auto* store = new OperandCache(
      topology().memory_nodes > 1 ? 0 : uint64_t(read_memory().total_bytes / kShareOfMemory));
  return *store;
}

std::shared_ptr<const Buffer> OperandCache::get(deepbench_type type, uint64_t count, Inputs inputs,
                                                uint64_t seed, uint32_t stream) {
  const uint64_t bytes = saturating_multiply(count, uint64_t(size_of(type)));
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.stream == stream; });
  if (at != entries_.end()) {
    if (at->type == type && at->inputs == inputs && at->seed == seed && at->buffer->size() >= bytes)
      return at->buffer;
    entries_.erase(at);  // frees its memory before the new operand takes any
  }
  auto made = std::make_shared<Buffer>(bytes);
  fill(made->data(), type, count, inputs, seed, stream);
  if (bytes <= limit_bytes_) entries_.push_back({type, inputs, seed, stream, made});
  return made;
}

void OperandCache::clear() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

void require_memory_for_operands(uint64_t bytes) {
  try {
    require_memory(bytes, "the problem");
  } catch (const plugin::Error&) {
    OperandCache::instance().clear();
    require_memory(bytes, "the problem");
  }
}

}  // namespace deepbench::cpu
