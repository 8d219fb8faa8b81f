/* The arguments of skinny.cu: a product of 8-bit integers with few columns. These are plain structs
 * with the same layout for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_SKINNY_H_
#define DEEPBENCH_CUDA_KERNELS_SKINNY_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

enum { SKINNY_MAX_COLUMNS = 8, SKINNY_THREADS = 512, SKINNY_VECTOR = 16 };

/* D = A B + C. Rows of A and columns of B consist of `vectors` vectors of SKINNY_VECTOR numbers and
 * lie one after the other; C and D have m rows. Block (x, y) handles the x-th group of rows and, of
 * each row, part_vectors vectors from y * part_vectors on. */
typedef struct SkinnyProduct {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  uint32_t m, vectors, part_vectors;
  /* Used if k is split. Both arrays contain zeros before and after every call. */
  uint32_t* sums;     /* same layout as D */
  uint32_t* arrivals; /* for each block x, the number of parts that have finished */
} SkinnyProduct;

#endif /* DEEPBENCH_CUDA_KERNELS_SKINNY_H_ */
