// Chooses layouts and grids.
#include "operand_launch.hpp"

#include <algorithm>
#include <vector>

#include "deepbench/backend/output_checks.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint64_t kBlocksPerMultiprocessor = 8;  // of OPERAND_THREADS threads: the maximum
constexpr uint64_t kMaxGridY = 65535, kMaxGridX = (uint64_t{1} << 31) - 1;

uint64_t divide_up(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

// The smallest power of two that is at least `number`, limited to the power of two `most`.
uint32_t rounded_up_to_power_of_two(uint64_t number, uint32_t most) {
  uint32_t power = 1;
  while (power < most && power < number) power *= 2;
  return power;
}

struct OperandDimension {
  uint64_t count, stride, step;  // strides in memory and in the operand's order
};
using OperandDimensions = std::vector<OperandDimension>;

// The operand's dimensions, the one with the smallest step first. OperandDimensions of one element
// are omitted, and dimensions that are contiguous in memory as in the operand are merged. An array
// has one dimension.
OperandDimensions dimensions_of(const Matrix& matrix) {
  const OperandDimension all[] = {
      {matrix.rows, matrix.row_stride, 1},
      {matrix.columns, matrix.column_stride, matrix.rows},
      {matrix.planes, matrix.plane_stride, matrix.rows * matrix.columns}};
  OperandDimensions dimensions;
  for (const OperandDimension& one : all) {
    if (one.count == 1) continue;
    if (!dimensions.empty() && one.stride == dimensions.back().count * dimensions.back().stride)
      dimensions.back().count *= one.count;
    else
      dimensions.push_back(one);
  }
  return dimensions;
}

// Divides the operand's dimensions into the rows and the columns of a matrix of `rows` rows, and
// splits one dimension if needed. Returns false if the rows end elsewhere.
bool split_into_rows(const OperandDimensions& dimensions, uint64_t rows, OperandDimensions& of_rows,
                     OperandDimensions& of_columns) {
  for (const OperandDimension& one : dimensions) {
    if (rows == 1) {
      of_columns.push_back(one);
    } else if (rows % one.count == 0) {
      of_rows.push_back(one);
      rows /= one.count;
    } else if (one.count % rows == 0) {
      of_rows.push_back({rows, one.stride, one.step});
      of_columns.push_back({one.count / rows, rows * one.stride, rows * one.step});
      rows = 1;
    } else {
      return false;
    }
  }
  return of_rows.size() <= 2 && of_columns.size() <= 1;
}

void set_strides(Projection& p, const Matrix& matrix) {
  OperandDimensions of_rows, of_columns;
  p.inner_rows = p.rows;
  if (!split_into_rows(dimensions_of(matrix), p.rows, of_rows, of_columns)) {
    p.operand = tensor_of(matrix);
    p.row_stride = matrix.row_stride, p.column_stride = matrix.column_stride;
    return;
  }
  if (!of_columns.empty()) p.column_stride = of_columns[0].stride;
  if (!of_rows.empty()) p.inner_rows = of_rows[0].count, p.row_stride = of_rows[0].stride;
  if (of_rows.size() > 1) p.outer_row_stride = of_rows[1].stride;
}

// The smallest distance between two rows.
uint64_t shortest_row_stride(const Projection& p) {
  return p.outer_row_stride ? std::min(p.row_stride, p.outer_row_stride) : p.row_stride;
}

}  // namespace

StridedLayout strided_layout_of(const Matrix& matrix) {
  OperandDimensions d = dimensions_of(matrix);
  std::sort(d.begin(), d.end(), [](const OperandDimension& a, const OperandDimension& b) {
    return a.stride < b.stride;
  });
  d.resize(3, {1, 0, 0});
  return {d[0].count,  d[1].count, d[2].count, d[0].stride, d[1].stride,
          d[2].stride, d[0].step,  d[1].step,  d[2].step};
}

Tensor tensor_of(const Matrix& matrix) {
  return {matrix.rows, matrix.columns, matrix.row_stride, matrix.column_stride,
          matrix.plane_stride};
}

LaunchShape launch_shape_of(const StridedLayout& layout, int multiprocessors) {
  const uint64_t most = 2 * kBlocksPerMultiprocessor * uint64_t(multiprocessors);
  LaunchShape shape;
  shape.block_x = rounded_up_to_power_of_two(layout.inner, OPERAND_THREADS);
  shape.block_y = OPERAND_THREADS / shape.block_x;
  shape.grid_x = uint32_t(std::clamp<uint64_t>(divide_up(layout.inner, shape.block_x), 1, most));
  const uint64_t most_y = std::min(kMaxGridY, std::max<uint64_t>(1, most / shape.grid_x));
  shape.grid_y = uint32_t(
      std::clamp<uint64_t>(divide_up(layout.middle * layout.outer, shape.block_y), 1, most_y));
  return shape;
}

ProjectionPlan plan_projection(const Matrix& matrix, uint64_t rows, int multiprocessors) {
  ProjectionPlan plan = {};
  Projection& p = plan.projection;
  p.rows = rows;
  p.columns = plugin::output_columns(matrix.elements(), rows);
  set_strides(p, matrix);
  p.columns_are_near = p.columns > 1 && p.column_stride < shortest_row_stride(p);
  p.row_threads = p.columns_are_near ? rounded_up_to_power_of_two(divide_up(rows, PROJECTION_ROWS),
                                                                  OPERAND_THREADS / kWarp)
                                     : rounded_up_to_power_of_two(rows, kWarp);

  const uint64_t column_threads = OPERAND_THREADS / p.row_threads;
  const uint64_t row_blocks = divide_up(rows, uint64_t(p.row_threads) * PROJECTION_ROWS);
  const uint64_t target_blocks =
      divide_up(kBlocksPerMultiprocessor * uint64_t(multiprocessors), row_blocks);
  const uint64_t useful_blocks = divide_up(p.columns, 4 * column_threads);
  p.columns_of_block = divide_up(p.columns, std::min({target_blocks, useful_blocks, kMaxGridY}));
  plan.shape.block_x = OPERAND_THREADS;
  plan.shape.grid_x = uint32_t(row_blocks);
  plan.shape.grid_y = uint32_t(divide_up(p.columns, p.columns_of_block));
  plan.combine_row_threads = rounded_up_to_power_of_two(rows, kWarp);
  plan.combine_shape.block_x = OPERAND_THREADS;
  plan.combine_shape.grid_x = uint32_t(divide_up(rows, plan.combine_row_threads));
  return plan;
}

LaunchShape transpose_launch_shape(const Matrix& from, const Matrix& to) {
  if (from.rows != to.columns || from.columns != to.rows || from.type != to.type ||
      from.row_stride != 1 || to.row_stride != 1 || size_of(from.type) > 4)
    plugin::failed("transpose: the shapes or types of the matrices do not match");
  const uint64_t tile = TRANSPOSE_WORDS * 4 / uint64_t(size_of(from.type));
  const uint64_t tiles = divide_up(from.rows, tile) * divide_up(from.columns, tile);
  if (tiles > kMaxGridX) plugin::unsupported("transpose: the matrix is too large");
  LaunchShape shape;
  shape.grid_x = uint32_t(tiles);
  shape.block_x = TRANSPOSE_WORDS;
  shape.block_y = OPERAND_THREADS / TRANSPOSE_WORDS;
  return shape;
}

}  // namespace deepbench::cuda
