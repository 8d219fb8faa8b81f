// How our kernels go over an operand: which threads take which elements. Arithmetic alone, so that
// it can be tested without a device.
#pragma once

#include <cstdint>

#include "kernels/jit.hpp"
#include "kernels/walk.h"
#include "operand.hpp"

namespace deepbench::cuda {

Walk walk_of(const Matrix& matrix);
Tensor tensor_of(const Matrix& matrix);
Shape shape_of(const Walk& walk, int multiprocessors);

struct ProjectionPlan {
  Projection projection;
  Shape shape;      // of the kernel project_columns; shape.grid_y parts of the columns
  Shape combining;  // of the kernel combine_parts
  uint32_t combining_row_threads;
  uint64_t partial_bytes() const { return projection.rows * shape.grid_y * sizeof(double); }
};

// Throws plugin::Error if the elements are no matrix of that many rows.
ProjectionPlan plan_projection(const Matrix& matrix, uint64_t rows, int multiprocessors);

// Of from.type's transposing kernel. Throws plugin::Error if the two matrices do not fit.
Shape shape_of_transpose(const Matrix& from, const Matrix& to);

}  // namespace deepbench::cuda
