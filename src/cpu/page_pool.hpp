// Large pages that buffers have given back, for the next who asks. New ones are slow: the system
// clears each, and under a virtual machine the host has to find it first (0.3 to 0.4 GB/s a core).
// Not for operands that are timed: what streams through the caches took 5 to 8 % longer in pages
// that had been used before, wherever in memory those are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace deepbench::cpu {

inline constexpr uint64_t kLargePageBytes = uint64_t{2} << 20;

class PagePool {
 public:
  // Keeps at most `limit_bytes` that nobody uses; with 0 all of it goes back to the system at once.
  explicit PagePool(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~PagePool() { clear(); }
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // That keeps nothing.
  static PagePool& uncached();
  // This process' references': a quarter of the memory, divided among ranks that divide the cores.
  // On machines with several memory nodes it keeps nothing either: pages must lie with the threads
  // that work on them.
  static PagePool& for_references();

  // Zeroed, aligned to large pages; nullptr where the system refuses. `bytes` are whole large
  // pages.
  std::byte* allocate(uint64_t bytes);
  // What allocate() returned, of the same size.
  void release(std::byte* pages, uint64_t bytes) noexcept;
  void clear();
  uint64_t idle_bytes() const;

 private:
  using Extents = std::map<std::byte*, uint64_t>;  // bytes by where they begin; no two touch

  Extents::iterator best_fit(uint64_t bytes);
  void add_idle(std::byte* pages, uint64_t bytes);

  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  Extents idle_;
  uint64_t idle_bytes_ = 0;
};

}  // namespace deepbench::cpu
