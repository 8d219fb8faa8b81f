// Allocation on the device and of page-locked host memory.
#include "buffer.hpp"

#include <cstdlib>
#include <limits>
#include <new>

#include "device.hpp"
#include "memory_pools.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kSmallStride = 256, kLargeStride = uint64_t{1} << 21;

// Small arrays lie as near to each other as alignment permits, large ones on pages of their own:
// every copy then begins at the alignment of the first.
uint64_t stride_of(uint64_t bytes) {
  const uint64_t step = bytes < kLargeStride ? kSmallStride : kLargeStride;
  return (bytes + step - 1) / step * step;
}

uint64_t round_to_pages(uint64_t bytes) {
  return saturating_add(bytes, kLargeStride - 1) / kLargeStride * kLargeStride;
}

// What the pool keeps may be in pieces that are too small: with them gone there may be room.
template <class Allocate>
nvidia::cudaError_t allocate_or_trim(int device, Allocate allocate) {
  const nvidia::cudaError_t status = allocate();
  if (status != nvidia::cudaErrorMemoryAllocation) return status;
  cudart().cudaGetLastError();  // not the next call's fault
  Stream::of(device).synchronize();
  trim_pool(device);
  return allocate();
}

}  // namespace

Buffer::Buffer(uint64_t bytes, AllocationKind kind) : bytes_(bytes) {
  if (bytes == 0) return;
  int device = 0;
  CUDA_CHECK(cudart().cudaGetDevice(&device));
  void* data = nullptr;
  if (kind == AllocationKind::kPooled && device_facts(device).memory_pools) {
    stream_ = &Stream::of(device);
    const auto allocate = [&] { return allocate_from_pools(&data, bytes, *stream_); };
    CUDA_CHECK_STATUS(cudaMallocAsync, allocate_or_trim(device, allocate));
  } else {
    // Whoever is given access to it gets whole pages, on which nothing else should lie.
    const uint64_t allocated_bytes =
        kind == AllocationKind::kDedicated ? round_to_pages(bytes) : bytes;
    const auto allocate = [&] { return cudart().cudaMalloc(&data, allocated_bytes); };
    CUDA_CHECK_STATUS(cudaMalloc, allocate_or_trim(device, allocate));
  }
  data_ = static_cast<std::byte*>(data);
}

// A failure to free is no news: the device is lost then, and the next call says so.
Buffer::~Buffer() {
  if (!data_) return;
  if (stream_)
    cudart().cudaFreeAsync(data_, stream_->get());
  else
    cudart().cudaFree(data_);
}

HostBuffer::HostBuffer(uint64_t bytes, bool pageable) : bytes_(bytes), pageable_(pageable) {
  if (bytes == 0) return;
  void* data = nullptr;
  if (pageable)
    data = std::malloc(bytes);
  else
    CUDA_CHECK(cudart().cudaMallocHost(&data, bytes));
  if (!data) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(data);
}

HostBuffer::~HostBuffer() {
  if (!data_) return;
  if (pageable_)
    std::free(data_);
  else
    cudart().cudaFreeHost(data_);
}

Copies::Copies(uint64_t bytes, uint64_t copies, AllocationKind kind)
    : bytes_(bytes),
      count_(copies),
      stride_(stride_of(bytes)),
      buffer_(needed(bytes, copies), kind) {}

uint64_t Copies::needed(uint64_t bytes, uint64_t copies) {
  if (bytes > kAll / 2 || copies == 0) return bytes;
  return saturating_multiply(stride_of(bytes), copies);
}

void Copies::clear(const Stream& stream) const {
  for (uint64_t copy = 0; copy < count_; ++copy)
    CUDA_CHECK(cudart().cudaMemsetAsync(at(copy), 0, bytes_, stream.get()));
}

void Copies::replicate(const Stream& stream) const {
  for (uint64_t copy = 1; copy < count_; ++copy)
    CUDA_CHECK(cudart().cudaMemcpyAsync(at(copy), at(0), bytes_, nvidia::cudaMemcpyDeviceToDevice,
                                        stream.get()));
}

}  // namespace deepbench::cuda
