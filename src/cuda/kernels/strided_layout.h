/* The order in which the kernels of operand.cu traverse a matrix, as computed by the host. These
 * are plain structs with the same layout for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_STRIDED_LAYOUT_H_
#define DEEPBENCH_CUDA_KERNELS_STRIDED_LAYOUT_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

/* One type in addition to deepbench_type: the words of memory problems, as unsigned numbers. */
enum { DEEPBENCH_UNSIGNED_WORD = 10 };

/* A traversal that visits every element once. Neighboring threads take neighbors along `inner`,
 * the dimension whose elements are closest in memory. Element (x, y, z) lies at x*inner_stride +
 * y*middle_stride + z*outer_stride, in elements, and has the index x*inner_step + y*middle_step +
 * z*outer_step in the operand. */
typedef struct StridedLayout {
  uint64_t inner, middle, outer;
  uint64_t inner_stride, middle_stride, outer_stride;
  uint64_t inner_step, middle_step, outer_step;
} StridedLayout;

/* The places of the elements of an operand: element i + j*rows + l*rows*columns lies at
 * i*row_stride + j*column_stride + l*plane_stride. */
typedef struct Tensor {
  uint64_t rows, columns;
  uint64_t row_stride, column_stride, plane_stride;
} Tensor;

/* The output as a column-major matrix of `rows` rows. Row i begins at i % inner_rows * row_stride +
 * i / inner_rows * outer_row_stride. If the operand's dimensions do not fit this form, `operand`
 * describes them; otherwise operand.rows is 0. A block has row_threads threads along the rows, each
 * of which takes PROJECTION_ROWS rows; its other threads are along the columns. */
typedef struct Projection {
  uint64_t rows, columns;
  uint64_t inner_rows;
  uint64_t row_stride, outer_row_stride, column_stride;
  Tensor operand;
  uint64_t columns_of_block;
  uint32_t row_threads;
  uint32_t columns_are_near; /* neighbors in memory belong to one row */
} Projection;

/* The counts of one block. */
typedef struct ScanCounts {
  uint64_t untouched, non_finite;
} ScanCounts;

enum { OPERAND_THREADS = 256, PROJECTION_ROWS = 4, TRANSPOSE_WORDS = 32 };

#endif /* DEEPBENCH_CUDA_KERNELS_STRIDED_LAYOUT_H_ */
