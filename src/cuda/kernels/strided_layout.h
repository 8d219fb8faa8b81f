/* How the kernels of operand.cu go over a matrix: what the host computes for them. Plain structs,
 * the same for the host's compiler and the device's. */
#ifndef DEEPBENCH_CUDA_KERNELS_STRIDED_LAYOUT_H_
#define DEEPBENCH_CUDA_KERNELS_STRIDED_LAYOUT_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* names the integers */
#else
#include <stdint.h>
#endif

/* One type beyond deepbench_type: the words of memory problems, which count as unsigned numbers. */
enum { DEEPBENCH_UNSIGNED_WORD = 10 };

/* Every element once. Neighbouring threads take neighbours along `inner`, which are the nearest in
 * memory. Element (x, y, z) lies at x*inner_stride + y*middle_stride + z*outer_stride, in elements,
 * and is element x*inner_step + y*middle_step + z*outer_step of the operand. */
typedef struct StridedLayout {
  uint64_t inner, middle, outer;
  uint64_t inner_stride, middle_stride, outer_stride;
  uint64_t inner_step, middle_step, outer_step;
} StridedLayout;

/* Where an operand's elements lie: element i + j*rows + l*rows*columns at i*row_stride +
 * j*column_stride + l*plane_stride. */
typedef struct Tensor {
  uint64_t rows, columns;
  uint64_t row_stride, column_stride, plane_stride;
} Tensor;

/* The output as a column-major matrix of `rows` rows. Row i begins at i % inner_rows * row_stride
 * + i / inner_rows * outer_row_stride. Where the operand's own dimensions do not come out so, they
 * are in `operand`; else its rows are 0. A block has row_threads threads for rows, each of which
 * takes PROJECTION_ROWS rows; the rest of its threads are for columns. */
typedef struct Projection {
  uint64_t rows, columns;
  uint64_t inner_rows;
  uint64_t row_stride, outer_row_stride, column_stride;
  Tensor operand;
  uint64_t columns_of_block;
  uint32_t row_threads;
  uint32_t columns_are_near; /* neighbours in memory are of one row */
} Projection;

/* What one block found. */
typedef struct ScanCounts {
  uint64_t untouched, non_finite;
} ScanCounts;

enum { OPERAND_THREADS = 256, PROJECTION_ROWS = 4, TRANSPOSE_WORDS = 32 };

#endif /* DEEPBENCH_CUDA_KERNELS_STRIDED_LAYOUT_H_ */
