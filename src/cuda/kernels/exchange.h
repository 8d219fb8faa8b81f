/* The arguments of the kernels of exchange.cu, the same for the host's and the device's compiler.
 */
#ifndef DEEPBENCH_CUDA_KERNELS_EXCHANGE_H_
#define DEEPBENCH_CUDA_KERNELS_EXCHANGE_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

#define EXCHANGE_MAX_THREADS 512
#define EXCHANGE_CLUSTER_BLOCKS 8 /* maximum that every device with clusters supports */

/* In each of `steps` steps, word i of a buffer becomes word i + shift of the previous step's
 * buffer. */
typedef struct Exchange {
  const uint32_t* source;
  uint32_t* destination;
  uint32_t words, shift, steps;
  /* Only for all multiprocessors: the words of odd and even steps, each with the number of its
   * step, and the number of steps of all earlier calls. */
  uint64_t* mailbox;
  uint32_t* steps_before;
  /* Each step reads all weights. Every word of them is even, so that they do not change results. */
  const void* weights;
  uint64_t weight_vectors; /* number of vectors of 16 bytes */
} Exchange;

#ifdef __CUDACC__
#define EXCHANGE_INLINE __host__ __device__ constexpr
#else
#define EXCHANGE_INLINE constexpr
#endif

/* The words of one buffer in the mailbox and in shared memory: words are received in pairs. */
EXCHANGE_INLINE uint32_t exchange_pitch(uint32_t words) { return (words + 1) / 2 * 2; }
/* Two buffers of states that alternate. */
EXCHANGE_INLINE uint32_t exchange_shared_bytes(uint32_t words) {
  return 2 * exchange_pitch(words) * (uint32_t)sizeof(uint32_t);
}

#endif /* DEEPBENCH_CUDA_KERNELS_EXCHANGE_H_ */
