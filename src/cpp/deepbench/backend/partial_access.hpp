// Plans the copies of operands of which a call touches only a part. Header-only, for backends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// Options that limit the number of copies, which take `stored_bytes` each, so that they need at
// most half of the memory. plan_copies() with these options and with the bytes that a call touches
// then flushes the caches if the copies do not suffice.
inline Options limit_copies(Options options, uint64_t stored_bytes, uint64_t memory_bytes) {
  const uint64_t most = memory_bytes / 2 / std::max<uint64_t>(1, stored_bytes);
  options.copies = std::min(options.copies, int64_t(most));
  return options;
}

}  // namespace deepbench::plugin
