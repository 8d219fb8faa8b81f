/* How the kernels of operand.cu go over a matrix: what the host computes for them. Plain structs,
 * the same for the host's compiler and the device's. */
#ifndef DEEPBENCH_CUDA_KERNELS_WALK_H_
#define DEEPBENCH_CUDA_KERNELS_WALK_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* names the integers */
#else
#include <stdint.h>
#endif

/* One type beyond deepbench_type: the words of memory problems, which count as unsigned numbers. */
enum { DEEPBENCH_UNSIGNED_WORD = 10 };

/* Every element once. Neighbouring threads take neighbours along `fast`, which are the nearest in
 * memory. Element (x, y) lies at x*fast_stride + y*slow_stride, in elements, and is element
 * x*fast_step + y*slow_step of the operand. */
typedef struct Walk {
  uint64_t fast, slow;
  uint64_t fast_stride, slow_stride;
  uint64_t fast_step, slow_step;
} Walk;

/* The output as a column-major matrix of `rows` rows. Where that is not how the operand counts its
 * elements, `operand_rows` is its own number of rows; else 0. A block has row_threads threads for
 * rows, each of which takes PROJECTION_ROWS rows; the rest of its threads are for columns. */
typedef struct Projection {
  uint64_t rows, columns;
  uint64_t row_stride, column_stride;
  uint64_t operand_rows;
  uint64_t columns_of_block;
  uint32_t row_threads;
  uint32_t columns_are_near; /* neighbours in memory are of one row */
} Projection;

/* What one block found. */
typedef struct Found {
  uint64_t untouched, non_finite;
} Found;

enum { OPERAND_THREADS = 256, PROJECTION_ROWS = 4, TRANSPOSE_WORDS = 32 };

#endif /* DEEPBENCH_CUDA_KERNELS_WALK_H_ */
