/* How operands of products with few columns are read. On the host, in tests, plainly. */
#ifndef DEEPBENCH_CUDA_KERNELS_CACHED_LOADS_H_
#define DEEPBENCH_CUDA_KERNELS_CACHED_LOADS_H_

#include "fill.h"

/* What is read once: it takes no place in the first cache, which is for what is not. `volatile`
 * keeps the compiler from putting loads off until there is a register free: they are to be under
 * way at once. */
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
