// The cache regime of a kernel: how many copies of the operands its calls go round, so that each
// finds its operands where the regime wants them. Header-only, for backends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

enum class Regime {
  kHot,       // one copy, called again and again
  kRotation,  // cold: copies enough that one round overflows the last-level cache
  kFlush      // cold where copies do not suffice: the caches are overwritten before every call
};

struct CopyPlan {
  Regime regime = Regime::kHot;
  uint64_t copies = 1;
  uint64_t flush_bytes = 0;  // kFlush: of the buffer that overwrites the caches
  bool shuffles = false;     // kHot: as emitted (plugin.h)

  // What is emitted of it: shuffles, or copies and cold.
  void describe(Sink& sink) const {
    if (shuffles) sink.integer("shuffles", 1);
    if (regime == Regime::kHot) return;
    sink.integer("copies", int64_t(copies));
    sink.text("cold", regime == Regime::kRotation ? "rotation" : "flush");
  }
};

inline constexpr uint64_t kRotationPerCache = 3;  // bytes that a round touches, in caches
inline constexpr uint64_t kFlushPerCache = 2;
inline constexpr uint64_t kMaxCopies = 1024;

// For calls that touch `bytes_per_copy` of their operands on a device with this cache and this
// memory, of which copies may take half.
inline CopyPlan plan_copies(uint64_t bytes_per_copy, const Options& options,
                            uint64_t last_level_bytes, uint64_t memory_bytes) {
  if (!options.cold) return {};
  const uint64_t bytes = std::max<uint64_t>(1, bytes_per_copy);
  const uint64_t round = kRotationPerCache * last_level_bytes;
  const uint64_t copies = std::max<uint64_t>(2, round / bytes + (round % bytes != 0));
  const auto most = std::min(kMaxCopies, uint64_t(std::max<int64_t>(0, options.copies)));
  const bool fits = bytes <= memory_bytes / 2 / copies;
  if (copies > most || !fits) return {Regime::kFlush, 1, kFlushPerCache * last_level_bytes};
  return {Regime::kRotation, copies, 0};
}

// How much of operands about as large as the cache stays in it depends on which compute unit reads
// which part of them.
inline CopyPlan shuffle_near_cache_size(CopyPlan plan, uint64_t bytes, uint64_t last_level_bytes) {
  const bool near = bytes >= last_level_bytes / 3 && bytes <= last_level_bytes / 4 * 5;
  plan.shuffles = plan.regime == Regime::kHot && near;
  return plan;
}

// Which copy the next call takes. Batches go on where the last one stopped, so that a short batch
// of a cold kernel does not find what the one before it left in the caches.
class Rotation {
 public:
  explicit Rotation(uint64_t copies) : copies_(copies), last_(copies - 1) {}
  uint64_t copies() const { return copies_; }
  uint64_t next() { return last_ = last_ + 1 == copies_ ? 0 : last_ + 1; }
  uint64_t last() const { return last_; }
  // The copy of the call that is `calls` after the last one; advance() makes it the last.
  uint64_t copy_after(uint64_t calls) const { return (last_ + calls) % copies_; }
  void advance(uint64_t calls) { last_ = copy_after(calls); }
  uint64_t touched(uint64_t calls) const { return calls < copies_ ? calls : copies_; }

 private:
  uint64_t copies_, last_;
};

}  // namespace deepbench::plugin
