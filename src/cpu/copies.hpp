// Copies of operands for the cache regime, and emptying the caches where copies do not suffice.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "deepbench/backend/rotation.hpp"

namespace deepbench::cpu {

using plugin::CopyPlan;
using plugin::plan_copies;
using plugin::Regime;
using plugin::Rotation;

CopyPlan plan_copies(uint64_t bytes_per_copy, const plugin::Options& options);  // for this machine

// `copies` arrays of `bytes`, all at the same alignment.
class Copies {
 public:
  Copies() = default;
  Copies(uint64_t bytes, uint64_t copies);

  std::byte* at(uint64_t copy) const { return buffer_.data() + copy * stride_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t count() const { return count_; }
  static uint64_t needed_bytes(uint64_t bytes, uint64_t copies);

  void replicate();                       // copy 0 into all others
  void overwrite(const std::byte* from);  // all of them

 private:
  uint64_t bytes_ = 0, count_ = 0, stride_ = 0;
  Buffer buffer_;
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
