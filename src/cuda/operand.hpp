// What a backend does to whole operands, on the device: fill them by fill.h, poison outputs, look
// at every element, project, read. All of it is our own kernels (kernels/operand.cu).
#pragma once

#include <cstdint>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/fill.h"
#include "deepbench/plugin.h"
#include "stream.hpp"

namespace deepbench::cuda {

using plugin::Inputs;
using plugin::parse_inputs;

// A matrix as it lies in device memory. Element (i, j), i < rows, j < columns, is element
// i + j*rows of the problem's operand (fill.h, output indices), and lies at
// data[i*row_stride + j*column_stride], in elements of its type: padding and transposed storage are
// strides. An array is a matrix of one column. Several planes are a tensor: plane l begins with
// element l*rows*columns and lies plane_stride behind the one before it.
struct Matrix {
  void* data = nullptr;
  deepbench_type type = DEEPBENCH_F32;
  uint64_t rows = 0, columns = 1;
  uint64_t row_stride = 1, column_stride = 0;
  bool unsigned_words = false;  // S32 as unsigned numbers: memory's words
  uint64_t planes = 1, plane_stride = 0;

  uint64_t elements() const { return rows * columns * planes; }
};

// Everything goes to the stream; scan, project and read wait for it.

// (i, j) = element i + j*rows of operand `operand`, as the type stores it. Padding is not touched.
void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand,
          const Stream& stream);

// NaNs of one bit pattern; integers DEEPBENCH_POISON_INTEGER (-127 where it does not fit).
void poison(const Matrix& matrix, const Stream& stream);

// count, untouched and non_finite of a poisoned output. With `restored` (same shape and strides),
// the values that an output in place had before, an element is untouched if it still has them.
deepbench_scan scan(const Matrix& matrix, const void* restored, const Stream& stream);

// The output seen as a column-major matrix of `rows` rows, rows*k = its number of elements:
// sums[i] = sum over j of output[i + j*rows] * deepbench_weight(seed, j), in double.
void project(const Matrix& matrix, uint64_t rows, uint64_t seed, double* sums,
             const Stream& stream);

// values[x] = output element indices[x] as a double. Throws plugin::Error for an index outside.
void read(const Matrix& matrix, const uint64_t* indices, size_t count, double* values,
          const Stream& stream);

// to(i, j) = from(j, i), same type of one, two or four bytes; both column-major, i.e. their row
// strides are 1. For operands that a library wants stored otherwise.
void transpose(const Matrix& from, const Matrix& to, const Stream& stream);

}  // namespace deepbench::cuda
