// A matrix in a device's memory whose elements need not be adjacent, and its size. Header-only, for
// backends.
#pragma once

#include <cstdint>

#include "deepbench/backend/saturating_arithmetic.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/fill.h"

namespace deepbench::plugin {

// Element (i, j), i < rows, j < columns, is element i + j*rows of the problem's operand (fill.h,
// output indices). It lies at data[i*row_stride + j*column_stride], in elements of its type:
// strides express padding and transposed storage. An array is a matrix of one column. A tensor has
// several planes: plane l begins with element l*rows*columns, plane_stride elements after the last
// plane.
struct Matrix {
  void* data = nullptr;
  deepbench_type type = DEEPBENCH_F32;
  uint64_t rows = 0, columns = 1;
  uint64_t row_stride = 1, column_stride = 0;
  bool unsigned_words = false;  // S32 holds unsigned numbers, as the words of memory
  uint64_t planes = 1, plane_stride = 0;

  uint64_t elements() const { return rows * columns * planes; }
};

// The bytes of a matrix without gaps; saturates.
inline uint64_t matrix_bytes(int64_t rows, int64_t columns, deepbench_type type) {
  return saturating_multiply(saturating_multiply(uint64_t(rows), uint64_t(columns)),
                             uint64_t(size_of(type)));
}

}  // namespace deepbench::plugin
