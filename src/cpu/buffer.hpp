// Memory for operands: aligned to cache lines, zeroed, on large pages where they help, freed by the
// destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "cgroup_limits.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"
#include "page_pool.hpp"

namespace deepbench::cpu {

inline constexpr uint64_t kLineBytes = 64;
inline constexpr uint64_t kPageBytes = 4096;

inline uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

using plugin::saturating_add;
using plugin::saturating_multiply;

std::string format_bytes(uint64_t bytes);  // "12.3 GB": units are powers of 1000

class Buffer {
 public:
  Buffer() = default;
  // Throws plugin::Error with DEEPBENCH_OUT_OF_MEMORY and the size. The system allocates a new page
  // on the memory node of the thread that touches it first, which should be the thread that uses
  // it. Buffers of a large page or more take their pages from `store`.
  explicit Buffer(uint64_t bytes, PagePool& store = PagePool::without_reuse());
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  uint64_t size() const { return bytes_; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_), std::swap(bytes_, other.bytes_);
    std::swap(pages_, other.pages_), std::swap(store_, other.store_);
  }

  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  std::byte* pages_ = nullptr;  // begins at or before data_
  PagePool* store_ = nullptr;   // the pool of the pages; nullptr for a small buffer
};

// The memory that a caller can allocate, including the idle pages that the pool of references
// holds: allocations release them.
MemoryState available_memory();

// Throws DEEPBENCH_OUT_OF_MEMORY if `bytes` are not available, before anything is allocated: the
// operating system grants more memory than it has and kills the process that touches it.
void require_memory(uint64_t bytes, const std::string& what);

}  // namespace deepbench::cpu
