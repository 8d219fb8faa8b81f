// Copies of operands for the cache regime, and emptying the caches where copies do not suffice.
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

CopyPlan plan_copies(uint64_t bytes_per_copy, const plugin::Options& options);  // for this machine

// Aligned to cache lines, or to pages where an array has one or more.
class Copies : public plugin::Copies<Buffer, kLineBytes, kPageBytes> {
 public:
  using plugin::Copies<Buffer, kLineBytes, kPageBytes>::Copies;

  void replicate() const;                       // copy 0 into all others
  void overwrite(const std::byte* from) const;  // `from` into all copies

 private:
  void copy_into(uint64_t first_copy, const std::byte* from) const;
};

// Reads and writes every line of a buffer larger than the caches, which leaves nothing else there.
class CacheFlusher {
 public:
  explicit CacheFlusher(uint64_t bytes) : buffer_(bytes) {}
  void flush();                                    // by host_workers()
  void flush_part(size_t worker, size_t workers);  // by the calling thread, as one of several

 private:
  Buffer buffer_;
};

}  // namespace deepbench::cpu
