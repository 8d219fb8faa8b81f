// The cache regime of a kernel: how many copies of the operands its calls go round, so that each
// finds its operands where the regime wants them.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cpu {

enum class Regime {
  kHot,       // one copy, called again and again
  kRotation,  // cold: copies enough that one round overflows the last-level cache
  kFlush      // cold where copies do not suffice: the caches are overwritten before every call
};

struct CopyPlan {
  Regime regime = Regime::kHot;
  uint64_t copies = 1;
  uint64_t flush_bytes = 0;  // kFlush: of the buffer that overwrites the caches

  // What is emitted of it: copies and cold.
  void describe(plugin::Sink& sink) const;
};

// For calls that touch `bytes_per_copy` of their operands on a processor with these caches and
// this memory. A round covers three times the last-level cache.
CopyPlan plan_copies(uint64_t bytes_per_copy, const plugin::Options& options,
                     uint64_t last_level_bytes, uint64_t memory_bytes);
CopyPlan plan_copies(uint64_t bytes_per_copy, const plugin::Options& options);  // for this machine

// `copies` arrays of `bytes`, all at the same alignment.
class Copies {
 public:
  Copies() = default;
  Copies(uint64_t bytes, uint64_t copies);

  std::byte* at(uint64_t copy) const { return buffer_.data() + copy * stride_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t count() const { return count_; }
  static uint64_t needed(uint64_t bytes, uint64_t copies);

  void replicate();                       // copy 0 into all others
  void overwrite(const std::byte* from);  // all of them

 private:
  uint64_t bytes_ = 0, count_ = 0, stride_ = 0;
  Buffer buffer_;
};

// Which copy the next call takes. Batches go on where the last one stopped, so that a short batch
// of a cold kernel does not find what the one before it left in the caches.
class Rotation {
 public:
  explicit Rotation(uint64_t copies) : copies_(copies), last_(copies - 1) {}
  uint64_t next() { return last_ = last_ + 1 == copies_ ? 0 : last_ + 1; }
  uint64_t last() const { return last_; }
  // The copy of the call that is `calls` after the last one; advance() makes it the last.
  uint64_t ahead(uint64_t calls) const { return (last_ + calls) % copies_; }
  void advance(uint64_t calls) { last_ = ahead(calls); }
  uint64_t touched(uint64_t calls) const { return calls < copies_ ? calls : copies_; }

 private:
  uint64_t copies_, last_;
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
