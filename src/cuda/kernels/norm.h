/* The arguments that the host passes to the kernels of norm.cu. These are plain structs with the
 * same layout for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_NORM_H_
#define DEEPBENCH_CUDA_KERNELS_NORM_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

/* The operands of ops/norm/norm.hpp; null if the problem has no such operand. */
typedef struct NormArguments {
  const void *x, *dy;
  const float *scale, *shift;
  float *mean, *spread; /* one for each set; results of training, otherwise operands */
  void* out;            /* y or dx */
  float *dscale, *dshift;
  float* partial; /* sums over some of the rows: two arrays of [part][column] */
  uint64_t rows, columns;
  uint64_t set; /* elements of a row that are normalized together */
  float epsilon;
  uint32_t has_mean;
} NormArguments;

enum {
  NORM_WARP = 32,
  NORM_COLUMN_THREADS = 256,   /* per block of the kernels over columns */
  NORM_COMBINING_THREADS = 32, /* along the parts that are added up, and along the columns */
  NORM_ROWS_IN_FLIGHT = 4
};

#endif /* DEEPBENCH_CUDA_KERNELS_NORM_H_ */
