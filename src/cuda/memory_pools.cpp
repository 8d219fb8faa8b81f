// Creates, reuses and trims pools.
#include "memory_pools.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "deepbench/backend/memo_cache.hpp"
#include "device.hpp"
#include "status_check.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kPoolCaches = 3;  // size of the pool of caches, in caches
// The pool of caches takes at most this fraction of the memory.
constexpr uint64_t kMemoryDivisor = 16;
constexpr uint64_t kPage = uint64_t{1} << 21;  // its size is a multiple of this

struct CachePool {
  nvidia::cudaMemPool_t pool = nullptr;  // nullptr if the driver refused it
  uint64_t bytes = 0;
};

CachePool& cache_pool(int device) {
  static auto* pools = new plugin::MemoCache<int, CachePool*>();  // outlives the libraries
  return *pools->get(device, [] { return new CachePool(); });
}

nvidia::cudaMemPool_t default_pool(int device) {
  nvidia::cudaMemPool_t pool = nullptr;
  CUDA_CHECK(cudart().cudaDeviceGetDefaultMemPool(&pool, device));
  return pool;
}

uint64_t pool_attribute(nvidia::cudaMemPool_t pool, nvidia::cudaMemPoolAttr which) {
  uint64_t bytes = 0;
  CUDA_CHECK(cudart().cudaMemPoolGetAttribute(pool, which, &bytes));
  return bytes;
}

uint64_t used_bytes(nvidia::cudaMemPool_t pool) {
  return pool_attribute(pool, nvidia::cudaMemPoolAttrUsedMemCurrent);
}

void keep_idle_memory(nvidia::cudaMemPool_t pool) {
  uint64_t threshold = std::numeric_limits<uint64_t>::max();
  CUDA_CHECK(
      cudart().cudaMemPoolSetAttribute(pool, nvidia::cudaMemPoolAttrReleaseThreshold, &threshold));
}

uint64_t cache_pool_bytes(const DeviceFacts& facts) {
  const uint64_t target_bytes =
      std::min(kPoolCaches * facts.l2_bytes, facts.memory_bytes / kMemoryDivisor);
  return target_bytes / kPage * kPage;
}

// Allocates the whole pool in one piece and frees it: later allocations find room in the memory
// that the pool holds.
bool reserve_whole_pool(nvidia::cudaMemPool_t pool, uint64_t bytes, nvidia::cudaStream_t stream) {
  void* all = nullptr;
  if (cudart().cudaMallocFromPoolAsync(&all, bytes, pool, stream) != nvidia::cudaSuccess)
    return false;
  CUDA_CHECK(cudart().cudaFreeAsync(all, stream));
  return true;
}

CachePool make_cache_pool(const Stream& stream) {
  CachePool made;
  made.bytes = cache_pool_bytes(device_facts(stream.device()));
  nvidia::cudaMemPoolProps properties = {};
  properties.allocType = nvidia::cudaMemAllocationTypePinned;
  properties.location = {nvidia::cudaMemLocationTypeDevice, stream.device()};
  properties.maxSize = made.bytes;
  if (made.bytes == 0 || cudart().cudaMemPoolCreate(&made.pool, &properties) != nvidia::cudaSuccess)
    return {};
  keep_idle_memory(made.pool);
  if (reserve_whole_pool(made.pool, made.bytes, stream.get())) return made;
  cudart().cudaMemPoolDestroy(made.pool);
  return {};
}

}  // namespace

void make_pools(const Stream& stream) {
  if (!device_facts(stream.device()).memory_pools) return;
  keep_idle_memory(default_pool(stream.device()));
  cache_pool(stream.device()) = make_cache_pool(stream);
  cudart().cudaGetLastError();  // clears the error, which the next call would report
}

nvidia::cudaError_t allocate_from_pools(void** data, uint64_t bytes, const Stream& stream) {
  const CachePool& cache = cache_pool(stream.device());
  if (cache.pool && bytes <= cache.bytes && used_bytes(cache.pool) <= cache.bytes - bytes) {
    const auto status = cudart().cudaMallocFromPoolAsync(data, bytes, cache.pool, stream.get());
    if (status != nvidia::cudaErrorMemoryAllocation) return status;
    cudart().cudaGetLastError();  // the free memory is in pieces; clears the error
  }
  return cudart().cudaMallocAsync(data, bytes, stream.get());
}

uint64_t idle_pool_bytes(int device) {
  if (!device_facts(device).memory_pools) return 0;
  const nvidia::cudaMemPool_t pool = default_pool(device);
  const uint64_t used = used_bytes(pool);
  const uint64_t held = pool_attribute(pool, nvidia::cudaMemPoolAttrReservedMemCurrent);
  return held > used ? held - used : 0;
}

void trim_pool(int device) {
  if (device_facts(device).memory_pools)
    CUDA_CHECK(cudart().cudaMemPoolTrimTo(default_pool(device), 0));
}

}  // namespace deepbench::cuda
