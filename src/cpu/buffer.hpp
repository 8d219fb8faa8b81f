// Memory for operands: aligned to lines, zeroed, on large pages where they help, given back by
// RAII.
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

std::string format_bytes(uint64_t bytes);  // "12.3 GB", powers of 1000

class Buffer {
 public:
  Buffer() = default;
  // Throws plugin::Error with DEEPBENCH_OUT_OF_MEMORY and the size. New pages are taken by whoever
  // touches them first, which should be the thread that will use them. `store` has large ones.
  explicit Buffer(uint64_t bytes, PagePool& store = PagePool::uncached());
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
  std::byte* pages_ = nullptr;  // where data_ lies
  PagePool* store_ = nullptr;   // whose pages they are, if they are large
};

// What can be had, with the pages that are kept for references: those are given up for it.
MemoryState available_memory();

// Throws DEEPBENCH_OUT_OF_MEMORY, before anything is taken, when `bytes` are not available: the
// kernel promises memory that it does not have and kills who touches it.
void require_memory(uint64_t bytes, const std::string& what);

}  // namespace deepbench::cpu
