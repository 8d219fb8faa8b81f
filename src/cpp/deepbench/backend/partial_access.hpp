// Copies of operands of which a call touches only a part. Header-only, for backends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// The options with so few copies of operands that take `stored_bytes` each that they need at most
// half of the memory. plan_copies() with these options may then be asked with the bytes that a call
// touches, and flushes the caches where the copies would not be enough.
inline Options limit_copies(Options options, uint64_t stored_bytes, uint64_t memory_bytes) {
  const uint64_t most = memory_bytes / 2 / std::max<uint64_t>(1, stored_bytes);
  options.copies = std::min(options.copies, int64_t(most));
  return options;
}

}  // namespace deepbench::plugin
