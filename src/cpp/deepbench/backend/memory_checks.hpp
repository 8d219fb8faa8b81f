// Rejects the memory problems that no backend supports. Header-only, for backends.
#pragma once

#include "deepbench/ops/memory/memory.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// Throws Error (unsupported) with the reason.
inline void require_hot_exchange(const Memory& memory, const Options& options) {
  if (memory.kind == MemoryKind::kExchange && options.cold)
    unsupported(
        "kind=exchange hands words from thread to thread, which finds them in the caches; use "
        "cache=hot");
}

}  // namespace deepbench::plugin
