// Keeping and trimming pools.
#include "pool.hpp"

#include <cstdint>
#include <limits>

#include "check.hpp"
#include "device.hpp"

namespace deepbench::cuda {
namespace {

nvidia::cudaMemPool_t pool_of(int device) {
  nvidia::cudaMemPool_t pool = nullptr;
  CUDA_CHECK(cudart().cudaDeviceGetDefaultMemPool(&pool, device));
  return pool;
}

uint64_t attribute(nvidia::cudaMemPool_t pool, nvidia::cudaMemPoolAttr which) {
  uint64_t bytes = 0;
  CUDA_CHECK(cudart().cudaMemPoolGetAttribute(pool, which, &bytes));
  return bytes;
}

}  // namespace

void keep_pool(int device) {
  if (!device_facts(device).memory_pools) return;
  uint64_t threshold = std::numeric_limits<uint64_t>::max();
  CUDA_CHECK(cudart().cudaMemPoolSetAttribute(pool_of(device),
                                              nvidia::cudaMemPoolAttrReleaseThreshold, &threshold));
}

uint64_t idle_in_pool(int device) {
  if (!device_facts(device).memory_pools) return 0;
  const nvidia::cudaMemPool_t pool = pool_of(device);
  const uint64_t used = attribute(pool, nvidia::cudaMemPoolAttrUsedMemCurrent);
  const uint64_t held = attribute(pool, nvidia::cudaMemPoolAttrReservedMemCurrent);
  return held > used ? held - used : 0;
}

void trim_pool(int device) {
  if (device_facts(device).memory_pools) CUDA_CHECK(cudart().cudaMemPoolTrimTo(pool_of(device), 0));
}

}  // namespace deepbench::cuda
