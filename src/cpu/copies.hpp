// Copies of operands for the cache regime, and flushing the caches where there is no room for
// enough copies.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "deepbench/backend/copies.hpp"
#include "deepbench/backend/rotation.hpp"

namespace deepbench::cpu {

using plugin::CopyPlan;
using plugin::plan_copies;
using plugin::Regime;
using plugin::Rotation;

// Plans the copies for this machine's cache and memory.
CopyPlan plan_copies(uint64_t bytes_per_copy, const plugin::Options& options);

// Arrays of at least a page are aligned to pages, smaller ones to cache lines.
class Copies : public plugin::Copies<Buffer, kLineBytes, kPageBytes> {
 public:
  using plugin::Copies<Buffer, kLineBytes, kPageBytes>::Copies;

  void replicate() const;                       // copies copy 0 to all others
  void overwrite(const std::byte* from) const;  // copies `from` to all copies

 private:
  void copy_into(uint64_t first_copy, const std::byte* from) const;
};

// Reads and writes every line of a buffer larger than the caches, which evicts everything else.
class CacheFlusher {
 public:
  explicit CacheFlusher(uint64_t bytes) : buffer_(bytes) {}
  void flush();                                    // runs on host_workers()
  void flush_part(size_t worker, size_t workers);  // runs on the calling thread, as one of several

 private:
  Buffer buffer_;
};

}  // namespace deepbench::cpu
