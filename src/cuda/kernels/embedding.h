/* What a kernel of embedding.cu works on. A plain struct with the same layout for the host's and
 * the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_EMBEDDING_H_
#define DEEPBENCH_CUDA_KERNELS_EMBEDDING_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

/* Lookup i asks for row indices[i] of the table. `rows` are those of the forward output, or of its
 * gradient, each from `lookups` lookups. All arrays are aligned to 16 bytes. */
typedef struct EmbeddingLookups {
  void* table;
  void* rows;
  const int32_t* indices;
  uint32_t count;   /* of rows */
  uint32_t lookups; /* of a row */
  uint32_t vectors; /* of a row, of the type that the kernel accesses */
} EmbeddingLookups;

enum {
  EMBEDDING_ROWS_AT_ONCE = 4,   /* that a thread copies, or whose gradients it adds */
  EMBEDDING_LOADS_IN_FLIGHT = 8 /* of a sum */
};

#endif /* DEEPBENCH_CUDA_KERNELS_EMBEDDING_H_ */
