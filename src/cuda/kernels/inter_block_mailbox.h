/* The words through which blocks of one kernel exchange data in global memory. For CUDA devices
 * only. */
#ifndef DEEPBENCH_CUDA_KERNELS_INTER_BLOCK_MAILBOX_H_
#define DEEPBENCH_CUDA_KERNELS_INTER_BLOCK_MAILBOX_H_

#include "fill.h"

/* Loads two 64-bit words, each of which is read atomically: the lower half holds elements, the
 * upper half their step. */
__device__ inline uint4 load_mailbox(const uint64_t* from) {
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(*reinterpret_cast<uint64_t*>(&v.x)), "=l"(*reinterpret_cast<uint64_t*>(&v.z))
               : "l"(from)
               : "memory");
  return v;
}

__device__ inline void store_mailbox(uint64_t* to, uint32_t elements, uint32_t step) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(uint64_t(step) << 32 | elements)
               : "memory");
}

#endif /* DEEPBENCH_CUDA_KERNELS_INTER_BLOCK_MAILBOX_H_ */
