// Device memory and page-locked host memory, owned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "deepbench/backend/saturating_arithmetic.hpp"

namespace deepbench::cuda {

class Stream;

using plugin::saturating_add;
using plugin::saturating_multiply;

// Where memory comes from: the device's pool where there is one, in the order of the device's
// stream, so that taking and giving back cost microseconds and do not wait; or an allocation of its
// own, which other processes and devices can be given access to.
enum class AllocationKind { kPooled, kDedicated };

// Memory of the current device, aligned to 256 bytes at least; not initialised.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(uint64_t bytes, AllocationKind kind = AllocationKind::kPooled);
  ~Buffer();
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void swap(Buffer& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
  }
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  const Stream* stream_ = nullptr;  // of the pool; none for plain allocations
};

// Host memory; page-locked, so that the device reaches it without the CPU, unless `pageable`.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(uint64_t bytes, bool pageable);
  ~HostBuffer();
  HostBuffer(HostBuffer&& other) noexcept { swap(other); }
  HostBuffer& operator=(HostBuffer&& other) noexcept {
    swap(other);
    return *this;
  }

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  void swap(HostBuffer& other) {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(pageable_, other.pageable_);
  }
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;
  bool pageable_ = false;
};

// `copies` arrays of `bytes`, all at the same alignment: small ones 256 bytes apart, large ones
// the page of the device's address translation.
class Copies {
 public:
  Copies() = default;
  Copies(uint64_t bytes, uint64_t copies, AllocationKind kind = AllocationKind::kPooled);

  std::byte* at(uint64_t copy) const { return buffer_.data() + copy * stride_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t count() const { return count_; }
  static uint64_t needed(uint64_t bytes, uint64_t copies);  // saturates

  // Both are given to the stream.
  void clear(const Stream& stream) const;      // zeros, in all copies
  void replicate(const Stream& stream) const;  // copy 0 into all others

 private:
  uint64_t bytes_ = 0, count_ = 0, stride_ = 0;
  Buffer buffer_;
};

}  // namespace deepbench::cuda
