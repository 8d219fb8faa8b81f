// Reuses large pages that buffers release. Fresh pages are slow: the system clears each page, and
// under a virtual machine the host first allocates it (0.3 to 0.4 GB/s per core). Operands of timed
// calls do not use reused pages: streaming through them takes 5 to 8 % longer than through fresh
// pages, wherever they lie in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace deepbench::cpu {

inline constexpr uint64_t kLargePageBytes = uint64_t{2} << 20;

class PagePool {
 public:
  // Keeps at most `limit_bytes` of idle pages; with 0, every page returns to the system at once.
  explicit PagePool(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~PagePool() { clear(); }
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // The pool that keeps no idle pages.
  static PagePool& without_reuse();
  // The pool for the references of this process: it keeps up to a quarter of the memory, shared
  // equally by the ranks that divide the machine's cores. On machines with several memory nodes it
  // keeps nothing, since pages must lie on the node of the threads that work on them.
  static PagePool& for_references();

  // Returns zeroed memory, aligned to large pages, or nullptr if the system refuses. `bytes` must
  // be a multiple of the large page size.
  std::byte* allocate(uint64_t bytes);
  // Takes back the result of allocate(), with the same size.
  void release(std::byte* pages, uint64_t bytes) noexcept;
  void clear();
  uint64_t idle_bytes() const;

 private:
  // Maps addresses to sizes; neighboring extents are always merged.
  using Extents = std::map<std::byte*, uint64_t>;

  Extents::iterator best_fit(uint64_t bytes);
  void add_idle(std::byte* pages, uint64_t bytes);

  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  Extents idle_;
  uint64_t idle_bytes_ = 0;
};

}  // namespace deepbench::cpu
