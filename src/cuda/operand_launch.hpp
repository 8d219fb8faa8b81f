// Assigns the elements of an operand to threads of the built-in kernels. This is pure arithmetic,
// which is tested without a device.
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
  // The launch of the kernel project_columns; shape.grid_y is the number of parts of the columns.
  LaunchShape shape;
  LaunchShape combine_shape;  // launch of the kernel combine_parts
  uint32_t combine_row_threads;
  uint64_t partial_bytes() const { return projection.rows * shape.grid_y * sizeof(double); }
};

// Throws plugin::Error unless `rows` divides the number of elements.
ProjectionPlan plan_projection(const Matrix& matrix, uint64_t rows, int multiprocessors);

// The launch of the transposing kernel for from.type. Throws plugin::Error if the shapes or types
// do not match.
LaunchShape transpose_launch_shape(const Matrix& from, const Matrix& to);

}  // namespace deepbench::cuda
