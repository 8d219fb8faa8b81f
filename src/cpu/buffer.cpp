// Allocates large buffers from a pool of pages, and maps small ones.
#include "buffer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>

#include "cgroup_limits.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cpu {
namespace {

// Operands that all begin at a large page would occupy the same sets of the caches. Each operand
// therefore begins kStaggerBytes farther into its page than the previous one, modulo kStaggers.
constexpr uint64_t kStaggerBytes = kPageBytes + kLineBytes, kStaggers = 32;
constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max() / 2;

uint64_t next_stagger_offset() {
  static std::atomic<uint64_t> made{0};
  return made++ % kStaggers * kStaggerBytes;
}

uint64_t large_bytes(uint64_t bytes) { return round_up(bytes, kLargePageBytes); }

std::byte* map_small_pages(uint64_t bytes) {
  void* const mapping =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return mapping == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapping);
}

}  // namespace

std::string format_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

Buffer::Buffer(uint64_t bytes, PagePool& store) : bytes_(bytes) {
  if (bytes == 0) return;
  if (bytes >= kLargePageBytes) store_ = &store;
  const uint64_t stagger = store_ ? next_stagger_offset() : 0;
  const auto allocate = [&]() -> std::byte* {
    if (bytes > kMax) return nullptr;
    return store_ ? store.allocate(large_bytes(bytes + stagger)) : map_small_pages(bytes);
  };
  pages_ = allocate();
  if (!pages_) {
    PagePool::for_references().clear();
    pages_ = allocate();
  }
  if (!pages_)
    throw plugin::Error(DEEPBENCH_OUT_OF_MEMORY,
                        "the operating system refuses to allocate " + format_bytes(bytes));
  data_ = pages_ + stagger;
}

Buffer::~Buffer() {
  if (!pages_) return;
  if (store_)
    store_->release(pages_, large_bytes(bytes_ + uint64_t(data_ - pages_)));
  else
    munmap(pages_, bytes_);
}

MemoryState available_memory() {
  const auto idle = int64_t(PagePool::for_references().idle_bytes());
  MemoryState memory = read_memory();
  memory.available_bytes = std::min(memory.total_bytes, memory.available_bytes + idle);
  return memory;
}

void require_memory(uint64_t bytes, const std::string& what) {
  // Twice the size must be available, because a row needs memory besides its operands: for
  // libraries and for verification.
  if (saturating_multiply(bytes, 2) > uint64_t(read_memory().available_bytes))
    PagePool::for_references().clear();
  const MemoryState memory = read_memory();
  if (memory.total_bytes == 0 || bytes <= uint64_t(memory.available_bytes)) return;
  throw plugin::Error(DEEPBENCH_OUT_OF_MEMORY,
                      what + " needs " + format_bytes(bytes) + " of host memory; " +
                          format_bytes(uint64_t(memory.available_bytes)) + " of " +
                          format_bytes(uint64_t(memory.total_bytes)) + " are available");
}

}  // namespace deepbench::cpu
