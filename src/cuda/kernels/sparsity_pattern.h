/* Describes to the kernels of csr.cu which elements of a matrix are nonzero: those whose word in a
 * stream of fill.h reaches a threshold. The structs have the same layout for the host's and the
 * device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_SPARSITY_PATTERN_H_
#define DEEPBENCH_CUDA_KERNELS_SPARSITY_PATTERN_H_

#include "strided_layout.h"

typedef struct NonzeroRule {
  uint64_t seed;
  uint32_t stream;
  uint32_t threshold; /* for the upper half of the element's 64 random bits */
} NonzeroRule;

/* A matrix as lines of elements, which are its rows or its columns. Element i of line l has the
 * index l*line_step + i*step. */
typedef struct Lines {
  uint64_t count, length;
  uint64_t line_step, step;
} Lines;

#endif /* DEEPBENCH_CUDA_KERNELS_SPARSITY_PATTERN_H_ */
