/* The device's clock in nanoseconds, which all multiprocessors share. Its ticks are up to a
 * microsecond apart. Tests on the host define host_now_ns(), each source file one of its own; the
 * functions here are therefore local to a file. */
#ifndef DEEPBENCH_CUDA_KERNELS_DEVICE_CLOCK_H_
#define DEEPBENCH_CUDA_KERNELS_DEVICE_CLOCK_H_

#include "fill.h"

namespace {

__device__ inline uint64_t now_ns() {
#ifdef __CUDACC__
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
#else
  return host_now_ns();
#endif
}

}  // namespace

#endif /* DEEPBENCH_CUDA_KERNELS_DEVICE_CLOCK_H_ */
