// How our kernels go over an operand: which threads take which elements. Arithmetic alone, so that
// it can be tested without a device.
#pragma once

#include <cstdint>

#include "kernels/jit.hpp"
#include "kernels/strided_layout.h"
#include "operand.hpp"

namespace deepbench::cuda {

StridedLayout strided_layout_of(const Matrix& matrix);
Tensor tensor_of(const Matrix& matrix);
LaunchShape launch_shape_of(const StridedLayout& layout, int multiprocessors);

struct ProjectionPlan {
  Projection projection;
  LaunchShape shape;          // of the kernel project_columns; shape.grid_y parts of the columns
  LaunchShape combine_shape;  // of the kernel combine_parts
  uint32_t combine_row_threads;
  uint64_t partial_bytes() const { return projection.rows * shape.grid_y * sizeof(double); }
};

// Throws plugin::Error if the elements are no matrix of that many rows.
ProjectionPlan plan_projection(const Matrix& matrix, uint64_t rows, int multiprocessors);

// Of from.type's transposing kernel. Throws plugin::Error if the two matrices do not fit.
LaunchShape transpose_launch_shape(const Matrix& from, const Matrix& to);

}  // namespace deepbench::cuda
