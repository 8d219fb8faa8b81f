/* Loads of operands for products with few columns. In tests on the host, they are plain loads. */
#ifndef DEEPBENCH_CUDA_KERNELS_CACHED_LOADS_H_
#define DEEPBENCH_CUDA_KERNELS_CACHED_LOADS_H_

#include "fill.h"

/* Loads data that is read only once, without allocating a line in the L1 cache, so that the cache
 * remains free for data that is reused. `volatile` prevents the compiler from delaying loads until
 * a register is free: all loads must be in flight at the same time. */
__device__ inline uint4 load_uncached(const uint4* from) {
#ifdef __CUDACC__
  uint4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
#else
  return *from;
#endif
}

__device__ inline uint2 load_uncached(const uint2* from) {
#ifdef __CUDACC__
  uint2 v;
  asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];"
               : "=r"(v.x), "=r"(v.y)
               : "l"(from));
  return v;
#else
  return *from;
#endif
}

__device__ inline uint4 load_cached(const uint4* from) {
#ifdef __CUDACC__
  uint4 v;
  asm("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
      : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
      : "l"(from));
  return v;
#else
  return *from;
#endif
}

#endif /* DEEPBENCH_CUDA_KERNELS_CACHED_LOADS_H_ */
