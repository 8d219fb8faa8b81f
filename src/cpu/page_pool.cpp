// Manages idle extents of pages: allocation takes the smallest that suffices, and release merges
// neighbors.
#include "page_pool.hpp"

#include <sys/mman.h>

#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "cgroup_limits.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

std::byte* map_new(uint64_t bytes) {
  const uint64_t mapped = bytes + kLargePageBytes;
  if (mapped < bytes) return nullptr;
  void* const mapping =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* const start = static_cast<std::byte*>(mapping);
  const uint64_t before = -reinterpret_cast<uintptr_t>(start) % kLargePageBytes;
  std::byte* const pages = start + before;
  if (before > 0) munmap(start, before);
  if (before < kLargePageBytes) munmap(pages + bytes, kLargePageBytes - before);
  madvise(pages, bytes, MADV_HUGEPAGE);  // advice: a refusal does no harm
  return pages;
}

}  // namespace

PagePool& PagePool::without_reuse() {
  static auto* store = new PagePool(0);
  return *store;
}

PagePool& PagePool::for_references() {
  constexpr int64_t kShareOfMemory = 4;
  static auto* store =
      new PagePool(topology().memory_nodes > 1
                       ? 0
                       : uint64_t(read_memory().total_bytes / kShareOfMemory / local_rank_count()));
  return *store;
}

PagePool::Extents::iterator PagePool::best_fit(uint64_t bytes) {
  auto best = idle_.end();
  for (auto at = idle_.begin(); at != idle_.end(); ++at)
    if (at->second >= bytes && (best == idle_.end() || at->second < best->second)) best = at;
  return best;
}

std::byte* PagePool::allocate(uint64_t bytes) {
  std::byte* pages = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto found = best_fit(bytes);
    if (found == idle_.end()) return map_new(bytes);
    auto extent = idle_.extract(found);
    pages = extent.key();
    extent.key() += bytes;
    extent.mapped() -= bytes;
    if (extent.mapped() > 0) idle_.insert(std::move(extent));
    idle_bytes_ -= bytes;
  }
  std::memset(pages, 0, bytes);
  return pages;
}

// Destructors of buffers call this: pages that the pool cannot keep return to the system.
void PagePool::release(std::byte* pages, uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (bytes <= limit_bytes_ - idle_bytes_) return add_idle(pages, bytes);
  } catch (const std::bad_alloc&) {
  }
  munmap(pages, bytes);
}

void PagePool::add_idle(std::byte* pages, uint64_t bytes) {
  const auto at = idle_.emplace(pages, bytes).first;
  idle_bytes_ += bytes;
  const auto next = std::next(at);
  if (next != idle_.end() && next->first == pages + bytes) {
    at->second += next->second;
    idle_.erase(next);
  }
  if (at == idle_.begin()) return;
  const auto before = std::prev(at);
  if (before->first + before->second != pages) return;
  before->second += at->second;
  idle_.erase(at);
}

void PagePool::clear() {
  const std::lock_guard lock(mutex_);
  for (const auto& [pages, bytes] : idle_) munmap(pages, bytes);
  idle_.clear();
  idle_bytes_ = 0;
}

uint64_t PagePool::idle_bytes() const {
  const std::lock_guard lock(mutex_);
  return idle_bytes_;
}

}  // namespace deepbench::cpu
