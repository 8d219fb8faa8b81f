// Making, keeping and trimming pools.
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

constexpr uint64_t kPoolCaches = 3;            // in the pool of caches,
constexpr uint64_t kMemoryDivisor = 16;        // of which it takes at most this part,
constexpr uint64_t kPage = uint64_t{1} << 21;  // in whole pages

struct CachePool {
  nvidia::cudaMemPool_t pool = nullptr;  // none where the driver refused it
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

uint64_t attribute(nvidia::cudaMemPool_t pool, nvidia::cudaMemPoolAttr which) {
  uint64_t bytes = 0;
  CUDA_CHECK(cudart().cudaMemPoolGetAttribute(pool, which, &bytes));
  return bytes;
}

uint64_t used_bytes(nvidia::cudaMemPool_t pool) {
  return attribute(pool, nvidia::cudaMemPoolAttrUsedMemCurrent);
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

// Whole and in one piece: later allocations find room in what the pool holds already.
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
  cudart().cudaGetLastError();  // a refusal is not the next call's fault
}

nvidia::cudaError_t allocate_from_pools(void** data, uint64_t bytes, const Stream& stream) {
  const CachePool& cache = cache_pool(stream.device());
  if (cache.pool && bytes <= cache.bytes && used_bytes(cache.pool) <= cache.bytes - bytes) {
    const auto status = cudart().cudaMallocFromPoolAsync(data, bytes, cache.pool, stream.get());
    if (status != nvidia::cudaErrorMemoryAllocation) return status;
    cudart().cudaGetLastError();  // its room is in pieces: not the next call's fault
  }
  return cudart().cudaMallocAsync(data, bytes, stream.get());
}

uint64_t idle_pool_bytes(int device) {
  if (!device_facts(device).memory_pools) return 0;
  const nvidia::cudaMemPool_t pool = default_pool(device);
  const uint64_t used = used_bytes(pool);
  const uint64_t held = attribute(pool, nvidia::cudaMemPoolAttrReservedMemCurrent);
  return held > used ? held - used : 0;
}

void trim_pool(int device) {
  if (device_facts(device).memory_pools)
    CUDA_CHECK(cudart().cudaMemPoolTrimTo(default_pool(device), 0));
}

}  // namespace deepbench::cuda
