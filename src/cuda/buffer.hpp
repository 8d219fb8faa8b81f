// Device memory and host memory, owned by RAII.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "deepbench/backend/copies.hpp"
#include "deepbench/backend/saturating_arithmetic.hpp"

namespace deepbench::cuda {

class Stream;

using plugin::saturating_add;
using plugin::saturating_multiply;

// The source of device memory. kPooled: the device's memory pool, if it has one, in the order of
// the device's stream, so that allocating and freeing take microseconds and do not wait.
// kDedicated: a separate allocation, which can be shared with other processes and devices.
enum class AllocationKind { kPooled, kDedicated };

// Memory on the current device, aligned to at least 256 bytes, not initialized.
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
  const Stream* stream_ = nullptr;  // stream of pooled memory; nullptr otherwise
};

// Host memory. Unless `pageable`, it is page-locked, so that the device reaches it without the CPU.
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

inline constexpr uint64_t kSmallStride = 256;
// The page size of the device's address translation.
inline constexpr uint64_t kLargeStride = uint64_t{1} << 21;

class Copies : public plugin::Copies<Buffer, kSmallStride, kLargeStride> {
 public:
  using plugin::Copies<Buffer, kSmallStride, kLargeStride>::Copies;

  // Each of these enqueues its work on the stream.
  void clear(const Stream& stream) const;                        // writes zeros to all copies
  void replicate(const Stream& stream) const;                    // copies copy 0 to all others
  void overwrite(const void* from, const Stream& stream) const;  // copies `from` to all copies
};

// Enqueues a copy from device memory to device memory on the stream.
void copy_on_device(void* to, const void* from, uint64_t bytes, const Stream& stream);

}  // namespace deepbench::cuda
