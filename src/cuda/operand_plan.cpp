// Choosing walks and grids.
#include "operand_plan.hpp"

#include <algorithm>
#include <string>

#include "deepbench/ops/precision.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint64_t kBlocksPerMultiprocessor = 8;  // of OPERAND_THREADS threads: all it can hold
constexpr uint64_t kMostGridY = 65535, kMostGridX = (uint64_t{1} << 31) - 1;

uint64_t divide_up(uint64_t number, uint64_t by) { return (number + by - 1) / by; }

// The smallest power of two that is no less, at most `most` (which is one).
uint32_t power_of_two(uint64_t number, uint32_t most) {
  uint32_t power = 1;
  while (power < most && power < number) power *= 2;
  return power;
}

// Whether the operand's elements, in their order, are the same distance apart.
bool is_array(const Matrix& matrix) {
  return matrix.columns == 1 || matrix.rows == 1 ||
         matrix.column_stride == matrix.rows * matrix.row_stride;
}

uint64_t array_stride(const Matrix& matrix) {
  return matrix.rows == 1 && matrix.columns > 1 ? matrix.column_stride : matrix.row_stride;
}

}  // namespace

Walk walk_of(const Matrix& matrix) {
  if (is_array(matrix)) return {matrix.rows * matrix.columns, 1, array_stride(matrix), 0, 1, 0};
  if (matrix.row_stride <= matrix.column_stride)
    return {matrix.rows, matrix.columns, matrix.row_stride, matrix.column_stride, 1, matrix.rows};
  return {matrix.columns, matrix.rows, matrix.column_stride, matrix.row_stride, matrix.rows, 1};
}

Shape shape_of(const Walk& walk, int multiprocessors) {
  const uint64_t most = 2 * kBlocksPerMultiprocessor * uint64_t(multiprocessors);
  Shape shape;
  shape.block_x = power_of_two(walk.fast, OPERAND_THREADS);
  shape.block_y = OPERAND_THREADS / shape.block_x;
  shape.grid_x = uint32_t(std::clamp<uint64_t>(divide_up(walk.fast, shape.block_x), 1, most));
  const uint64_t most_y = std::min(kMostGridY, std::max<uint64_t>(1, most / shape.grid_x));
  shape.grid_y = uint32_t(std::clamp<uint64_t>(divide_up(walk.slow, shape.block_y), 1, most_y));
  return shape;
}

ProjectionPlan plan_projection(const Matrix& matrix, uint64_t rows, int multiprocessors) {
  const uint64_t count = matrix.rows * matrix.columns;
  if (rows == 0 || count == 0 || count % rows != 0)
    plugin::invalid("project_output: " + std::to_string(count) + " outputs are not a matrix of " +
                    std::to_string(rows) + " rows");
  ProjectionPlan plan = {};
  Projection& p = plan.projection;
  p.rows = rows;
  p.columns = count / rows;
  p.row_stride = matrix.row_stride;
  p.column_stride = matrix.column_stride;
  if (rows != matrix.rows && !is_array(matrix)) p.operand_rows = matrix.rows;
  if (rows != matrix.rows && is_array(matrix)) {
    p.row_stride = array_stride(matrix);
    p.column_stride = rows * p.row_stride;
  }
  p.columns_are_near = p.columns > 1 && p.column_stride < p.row_stride;
  p.row_threads = p.columns_are_near
                      ? power_of_two(divide_up(rows, PROJECTION_ROWS), OPERAND_THREADS / kWarp)
                      : power_of_two(rows, kWarp);

  const uint64_t column_threads = OPERAND_THREADS / p.row_threads;
  const uint64_t row_blocks = divide_up(rows, uint64_t(p.row_threads) * PROJECTION_ROWS);
  const uint64_t wanted =
      divide_up(kBlocksPerMultiprocessor * uint64_t(multiprocessors), row_blocks);
  const uint64_t useful = divide_up(p.columns, 4 * column_threads);
  p.columns_of_block = divide_up(p.columns, std::min({wanted, useful, kMostGridY}));
  plan.shape.block_x = OPERAND_THREADS;
  plan.shape.grid_x = uint32_t(row_blocks);
  plan.shape.grid_y = uint32_t(divide_up(p.columns, p.columns_of_block));
  plan.combining_row_threads = power_of_two(rows, kWarp);
  plan.combining.block_x = OPERAND_THREADS;
  plan.combining.grid_x = uint32_t(divide_up(rows, plan.combining_row_threads));
  return plan;
}

Shape shape_of_transpose(const Matrix& from, const Matrix& to) {
  if (from.rows != to.columns || from.columns != to.rows || from.type != to.type ||
      from.row_stride != 1 || to.row_stride != 1 || size_of(from.type) > 4)
    plugin::failed("transpose: the matrices are no transposes of one another");
  const uint64_t tile = TRANSPOSE_WORDS * 4 / uint64_t(size_of(from.type));
  const uint64_t tiles = divide_up(from.rows, tile) * divide_up(from.columns, tile);
  if (tiles > kMostGridX) plugin::unsupported("transpose: the matrix is too large");
  Shape shape;
  shape.grid_x = uint32_t(tiles);
  shape.block_x = TRANSPOSE_WORDS;
  shape.block_y = OPERAND_THREADS / TRANSPOSE_WORDS;
  return shape;
}

}  // namespace deepbench::cuda
