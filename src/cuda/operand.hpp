// Operations on whole operands, on the device: filling with the values of fill.h, scaling,
// poisoning, scanning, projecting and reading outputs, by built-in kernels (kernels/operand.cu).
#pragma once

#include <cstdint>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/matrix.hpp"
#include "deepbench/fill.h"
#include "deepbench/plugin.h"
#include "stream.hpp"

namespace deepbench::cuda {

using plugin::Inputs;
using plugin::Matrix;
using plugin::parse_inputs;

// The data of every matrix lies in the memory of the stream's device. Each function enqueues its
// work on the stream; scan, project and read wait for it.

// Element (i, j) becomes element i + j*rows of operand `operand`, stored as the type. Padding stays
// unchanged.
void fill(const Matrix& matrix, Inputs inputs, uint64_t seed, uint32_t operand,
          const Stream& stream);

// Element (i, j) becomes the small integer i + j*rows of operand `operand`.
void fill_integers(const Matrix& matrix, deepbench_small_integers integers, uint64_t seed,
                   uint32_t operand, const Stream& stream);

// Multiplies an array of float, half or bfloat16 by a power of two, or by -1.
void scale(void* data, deepbench_type type, uint64_t count, float factor, const Stream& stream);

// Sets every element to the poison of its type (bit_patterns.hpp).
void poison(const Matrix& matrix, const Stream& stream);

// Returns count, untouched and non_finite of a poisoned output. For an output in place, `restored`
// (same shape and strides) holds the initial values, and an element that still has its initial
// value is untouched.
deepbench_scan scan(const Matrix& matrix, const void* restored, const Stream& stream);

// The output as a column-major matrix of `rows` rows, which must divide its number of elements:
// sums[i] = sum over j of output[i + j*rows] * deepbench_weight(seed, j), in double.
void project(const Matrix& matrix, uint64_t rows, uint64_t seed, double* sums,
             const Stream& stream);

// values[x] = output element indices[x] as a double. Throws plugin::Error for an index outside the
// output.
void read(const Matrix& matrix, const uint64_t* indices, size_t count, double* values,
          const Stream& stream);

// to(i, j) = from(j, i), for operands that a library requires in transposed storage. Both matrices
// have the same type of one, two or four bytes and row stride 1 (column-major).
void transpose(const Matrix& from, const Matrix& to, const Stream& stream);

}  // namespace deepbench::cuda
