/* Synchronization and stores between the blocks of a cluster. For CUDA devices of compute
 * capability 9.0 or higher only. */
#ifndef DEEPBENCH_CUDA_KERNELS_CLUSTER_H_
#define DEEPBENCH_CUDA_KERNELS_CLUSTER_H_

#include "fill.h"

/* Announces that this block has begun. A block must call cluster_wait() before it writes to the
 * memory of another block. */
__device__ inline void cluster_arrive() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}
__device__ inline void cluster_wait() {
  asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}

/* Makes the stores of every block that precede the barrier visible to all blocks after it. */
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/* Stores to the same position in the shared memory of another block of the cluster. */
__device__ inline void store_to_block(uint32_t block, float4* to, const float (&v)[4]) {
  uint32_t address = uint32_t(__cvta_generic_to_shared(to));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(address), "r"(block));
  asm volatile("st.shared::cluster.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(v[0]),
               "f"(v[1]), "f"(v[2]), "f"(v[3])
               : "memory");
}
__device__ inline void store_to_block(uint32_t block, uint32_t* to, uint32_t word) {
  uint32_t address = uint32_t(__cvta_generic_to_shared(to));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(address), "r"(block));
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

#endif /* DEEPBENCH_CUDA_KERNELS_CLUSTER_H_ */
