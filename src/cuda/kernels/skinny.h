/* A product of 8-bit integers with few columns, as skinny.cu takes it. Plain structs, the same for
 * the host's compiler and the device's. */
#ifndef DEEPBENCH_CUDA_KERNELS_SKINNY_H_
#define DEEPBENCH_CUDA_KERNELS_SKINNY_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* names the integers */
#else
#include <stdint.h>
#endif

enum { SKINNY_MAX_COLUMNS = 8, SKINNY_THREADS = 512, SKINNY_VECTOR = 16 };

/* D = A B + C. Rows of A and columns of B are `vectors` vectors of SKINNY_VECTOR numbers, one after
 * the other; C and D are m high. Block (x, y) takes the rows of block x and, of each, the
 * vectors from y * part_vectors on, part_vectors of them. */
typedef struct SkinnyProduct {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  uint32_t m, vectors, part_vectors;
  /* Where k is split; zeros before every call and after it. */
  uint32_t* sums;     /* as D */
  uint32_t* arrivals; /* of each block x: how many of its parts are done */
} SkinnyProduct;

#endif /* DEEPBENCH_CUDA_KERNELS_SKINNY_H_ */
