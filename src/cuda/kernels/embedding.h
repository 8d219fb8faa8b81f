/* The data of a kernel of embedding.cu. A plain struct with the same layout for the host's and
 * the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_EMBEDDING_H_
#define DEEPBENCH_CUDA_KERNELS_EMBEDDING_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

/* Lookup i requests row indices[i] of the table. `rows` are those of the forward output, or of
 * its gradient, each from `lookups` lookups. All arrays are aligned to 16 bytes. */
typedef struct EmbeddingLookups {
  void* table;
  void* rows;
  const int32_t* indices;
  uint32_t count;   /* number of rows */
  uint32_t lookups; /* number of lookups for a row */
  uint32_t vectors; /* vectors of a row, in the type that the kernel accesses */
} EmbeddingLookups;

enum {
  EMBEDDING_ROWS_AT_ONCE = 4,   /* rows that a thread copies at once, or whose gradients it adds */
  EMBEDDING_LOADS_IN_FLIGHT = 8 /* loads of a sum */
};

#endif /* DEEPBENCH_CUDA_KERNELS_EMBEDDING_H_ */
