// The cache regime of a kernel: how many copies of the operands its calls rotate through, so that
// each call finds its operands in the cache or in memory as the regime demands. Header-only, for
// backends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

enum class Regime {
  kHot,       // every call uses the same copy
  kRotation,  // cold: one round through all copies overflows the last-level cache; or rotated
  kFlush      // cold, without room for enough copies: each call follows a flush of the caches
};

struct CopyPlan {
  Regime regime = Regime::kHot;
  uint64_t copies = 1;
  uint64_t flush_bytes = 0;         // kFlush: size of the buffer that overwrites the caches
  bool schedule_sensitive = false;  // kHot: the fact `schedule_sensitive` of plugin.h

  // Emits schedule_sensitive, or copies and cold.
  void describe(Sink& sink) const {
    if (schedule_sensitive) sink.integer("schedule_sensitive", 1);
    if (regime == Regime::kHot) return;
    sink.integer("copies", int64_t(copies));
    sink.text("cold", regime == Regime::kRotation ? "rotation" : "flush");
  }
};

// Bytes that one round touches, as a multiple of the cache.
inline constexpr uint64_t kRotationPerCache = 3;
inline constexpr uint64_t kFlushPerCache = 2;
inline constexpr uint64_t kMaxCopies = 1024;

// Plans the copies for calls that touch `bytes_per_copy` of operands, on a device with this
// last-level cache and this memory. The copies take at most half of the memory. A rotated kernel
// has as many copies as a cold one, or fewer, and is not flushed.
inline CopyPlan plan_copies(uint64_t bytes_per_copy, const Options& options,
                            uint64_t last_level_bytes, uint64_t memory_bytes) {
  if (!options.cold && !options.rotated) return {};
  const uint64_t bytes = std::max<uint64_t>(1, bytes_per_copy);
  const uint64_t round = kRotationPerCache * last_level_bytes;
  const uint64_t copies = std::max<uint64_t>(2, round / bytes + (round % bytes != 0));
  const auto most = std::min(kMaxCopies, uint64_t(std::max<int64_t>(0, options.copies)));
  if (options.rotated) {
    const uint64_t some = std::min({copies, most, memory_bytes / 2 / bytes});
    return some < 2 ? CopyPlan() : CopyPlan{Regime::kRotation, some};
  }
  const bool fits = bytes <= memory_bytes / 2 / copies;
  if (copies > most || !fits) return {Regime::kFlush, 1, kFlushPerCache * last_level_bytes};
  return {Regime::kRotation, copies, 0};
}

// Marks hot calls whose operands are about as large as the cache: which part of them stays in the
// cache depends on which compute unit reads which part.
inline CopyPlan mark_schedule_sensitive(CopyPlan plan, uint64_t bytes, uint64_t last_level_bytes) {
  const bool near = bytes >= last_level_bytes / 3 && bytes <= last_level_bytes / 4 * 5;
  plan.schedule_sensitive = plan.regime == Regime::kHot && near;
  return plan;
}

// Chooses the copy for the next call. A batch continues where the last batch stopped, so that a
// short batch of a cold kernel does not find the operands of the last batch in the caches.
class Rotation {
 public:
  explicit Rotation(uint64_t copies) : copies_(copies), last_(copies - 1) {}
  uint64_t copies() const { return copies_; }
  uint64_t next() { return last_ = last_ + 1 == copies_ ? 0 : last_ + 1; }
  uint64_t last() const { return last_; }
  // The copy of the call that is `calls` after the last one. advance() makes it the last one.
  uint64_t copy_after_calls(uint64_t calls) const { return (last_ + calls) % copies_; }
  void advance(uint64_t calls) { last_ = copy_after_calls(calls); }
  uint64_t touched(uint64_t calls) const { return calls < copies_ ? calls : copies_; }

 private:
  uint64_t copies_, last_;
};

}  // namespace deepbench::plugin
