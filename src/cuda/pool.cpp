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

}  // namespace

void keep_pool(int device) {
  if (!device_facts(device).memory_pools) return;
  uint64_t threshold = std::numeric_limits<uint64_t>::max();
  CUDA_CHECK(cudart().cudaMemPoolSetAttribute(pool_of(device),
                                              nvidia::cudaMemPoolAttrReleaseThreshold, &threshold));
}

void trim_pool(int device) {
  if (device_facts(device).memory_pools) CUDA_CHECK(cudart().cudaMemPoolTrimTo(pool_of(device), 0));
}

}  // namespace deepbench::cuda
