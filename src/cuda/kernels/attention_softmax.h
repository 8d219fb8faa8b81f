/* The softmax between the products of attention, as the host describes it to the kernels of
 * attention_softmax.cu. A plain struct with the same layout for the host's and the device's
 * compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_ATTENTION_SOFTMAX_H_
#define DEEPBENCH_CUDA_KERNELS_ATTENTION_SOFTMAX_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

/* Row r of the scores belongs to query r % queries of head r / queries % heads. The key at the
 * position of query q has number q + diagonal. */
typedef struct AttentionSoftmax {
  uint64_t rows;
  uint32_t queries, keys, heads;
  uint32_t is_masked; /* 0: every query sees every key */
  int32_t diagonal;
  uint32_t window;     /* 0: all keys up to the query's position */
  uint32_t values;     /* elements of a row of the output */
  float scale;         /* factor of scores */
  float factor;        /* weights are powers of 2 of factor * score */
  float inverse_scale; /* a sink times this is a score */
} AttentionSoftmax;

enum { ATTENTION_WARP = 32, ATTENTION_WARPS = 8 /* of a block */ };

#endif /* DEEPBENCH_CUDA_KERNELS_ATTENTION_SOFTMAX_H_ */
