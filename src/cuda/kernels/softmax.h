/* The arguments of softmax.cu, with the same layout for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_SOFTMAX_H_
#define DEEPBENCH_CUDA_KERNELS_SOFTMAX_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

enum { SOFTMAX_WARP = 32, SOFTMAX_THREADS = 256, SOFTMAX_MOST_THREADS = 1024 };

/* A row-major matrix, and the arrays of the same shape: x and y, or y, dy and dx. */
typedef struct SoftmaxArrays {
  const void* x; /* y for the gradient */
  const void* dy;
  void* result;
  uint64_t rows, columns;
} SoftmaxArrays;

#endif /* DEEPBENCH_CUDA_KERNELS_SOFTMAX_H_ */
