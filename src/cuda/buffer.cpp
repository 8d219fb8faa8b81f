// Allocates device memory and page-locked host memory.
#include "buffer.hpp"

#include <cstdlib>
#include <new>

#include "device.hpp"
#include "memory_pools.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

uint64_t round_to_pages(uint64_t bytes) {
  return saturating_add(bytes, kLargeStride - 1) / kLargeStride * kLargeStride;
}

// Allocates memory. If the idle memory of the pool is in pieces that are too small, trims the pool
// and tries again.
template <class Allocate>
nvidia::cudaError_t allocate_or_trim(int device, Allocate allocate) {
  const nvidia::cudaError_t status = allocate();
  if (status != nvidia::cudaErrorMemoryAllocation) return status;
  cudart().cudaGetLastError();  // clears the error, which the next call would report
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
    // A dedicated allocation has whole pages: other processes get access to pages, not to bytes.
    const uint64_t allocated_bytes =
        kind == AllocationKind::kDedicated ? round_to_pages(bytes) : bytes;
    const auto allocate = [&] { return cudart().cudaMalloc(&data, allocated_bytes); };
    CUDA_CHECK_STATUS(cudaMalloc, allocate_or_trim(device, allocate));
  }
  data_ = static_cast<std::byte*>(data);
}

// Failures to free are ignored: they mean that the device is lost, which the next call reports.
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

void copy_on_device(void* to, const void* from, uint64_t bytes, const Stream& stream) {
  CUDA_CHECK(
      cudart().cudaMemcpyAsync(to, from, bytes, nvidia::cudaMemcpyDeviceToDevice, stream.get()));
}

void Copies::clear(const Stream& stream) const {
  for (uint64_t copy = 0; copy < count(); ++copy)
    CUDA_CHECK(cudart().cudaMemsetAsync(at(copy), 0, bytes(), stream.get()));
}

void Copies::replicate(const Stream& stream) const {
  for (uint64_t copy = 1; copy < count(); ++copy) copy_on_device(at(copy), at(0), bytes(), stream);
}

void Copies::overwrite(const void* from, const Stream& stream) const {
  for (uint64_t copy = 0; copy < count(); ++copy) copy_on_device(at(copy), from, bytes(), stream);
}

}  // namespace deepbench::cuda
