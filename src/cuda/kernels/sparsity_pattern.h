/* Which elements of a matrix are not zero, as the kernels of csr.cu are told: those whose word of a
 * stream of fill.h is large enough. The same for the host's compiler and the device's. */
#ifndef DEEPBENCH_CUDA_KERNELS_SPARSITY_PATTERN_H_
#define DEEPBENCH_CUDA_KERNELS_SPARSITY_PATTERN_H_

#include "strided_layout.h"

typedef struct NonzeroRule {
  uint64_t seed;
  uint32_t stream;
  uint32_t threshold; /* of the upper half of an element's 64 random bits */
} NonzeroRule;

/* A matrix as lines of elements, its rows or its columns: element `at` of line `line` has the index
 * line*line_step + at*step. */
typedef struct Lines {
  uint64_t count, length;
  uint64_t line_step, step;
} Lines;

#endif /* DEEPBENCH_CUDA_KERNELS_SPARSITY_PATTERN_H_ */
