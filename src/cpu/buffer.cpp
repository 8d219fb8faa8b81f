// Anonymous mappings, aligned to large pages when they are large.
#include "buffer.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <limits>

#include "deepbench/plugin.hpp"
#include "limits.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kLargePageBytes = uint64_t{2} << 20;
constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();

// Operands that all begin with a large page fall into the same sets of the caches: each begins so
// much farther into its own than the one before, up to some number.
constexpr uint64_t kStaggerBytes = kPageBytes + kLineBytes, kStaggers = 32;

uint64_t next_stagger() {
  static std::atomic<uint64_t> made{0};
  return made++ % kStaggers * kStaggerBytes;
}

}  // namespace

std::string readable_bytes(uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1000 && unit + 1 < std::size(kUnits); ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

Buffer::Buffer(uint64_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const bool large = bytes >= kLargePageBytes;
  const uint64_t alignment = large ? kLargePageBytes : kPageBytes;
  const uint64_t stagger = large ? next_stagger() : 0;
  mapped_bytes_ = saturating_add(bytes, large ? kLargePageBytes + stagger : 0);
  mapping_ = mapped_bytes_ > kMost / 2 ? MAP_FAILED
                                       : mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    throw plugin::Error(DEEPBENCH_OUT_OF_MEMORY,
                        "the operating system refuses to allocate " + readable_bytes(bytes));
  }
  const auto start = reinterpret_cast<uintptr_t>(mapping_);
  data_ = static_cast<std::byte*>(mapping_) + (round_up(start, alignment) - start);
  if (large) madvise(data_, bytes + stagger, MADV_HUGEPAGE);  // advice: no harm where refused
  data_ += stagger;
}

Buffer::~Buffer() {
  if (mapping_) munmap(mapping_, mapped_bytes_);
}

void require_memory(uint64_t bytes, const std::string& what) {
  const MemoryState memory = read_memory();
  if (memory.total_bytes == 0 || bytes <= uint64_t(memory.available_bytes)) return;
  throw plugin::Error(DEEPBENCH_OUT_OF_MEMORY,
                      what + " needs " + readable_bytes(bytes) + " of host memory; " +
                          readable_bytes(uint64_t(memory.available_bytes)) + " of " +
                          readable_bytes(uint64_t(memory.total_bytes)) + " are available");
}

}  // namespace deepbench::cpu
