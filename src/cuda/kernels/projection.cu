// The weighted row sums that verify a whole output: a part of the columns in each block, then the
// parts together, always in the same order, so that a sum is the same whenever it is taken.
#include "element.h"

namespace {

// What a thread of a projection takes: rows row + i*row_threads, and of the block's columns every
// column_threads-th.
struct Share {
  uint64_t row, column, last_column;
  uint32_t column_threads;
};

__device__ Share share_of_thread(const Projection& p) {
  Share share;
  share.column_threads = OPERAND_THREADS / p.row_threads;
  const uint32_t near_thread =
      threadIdx.x % (p.columns_are_near ? share.column_threads : p.row_threads);
  const uint32_t far_thread =
      threadIdx.x / (p.columns_are_near ? share.column_threads : p.row_threads);
  const uint64_t first_column = blockIdx.y * p.columns_of_block;
  share.row = uint64_t(blockIdx.x) * p.row_threads * PROJECTION_ROWS +
              (p.columns_are_near ? far_thread : near_thread);
  share.column = first_column + (p.columns_are_near ? near_thread : far_thread);
  share.last_column = first_column + p.columns_of_block;
  if (share.last_column > p.columns) share.last_column = p.columns;
  return share;
}

template <class Value>
__device__ void add_columns(const Projection& p, const Share& share, uint64_t seed, double* sums,
                            Value value) {
  double mine[PROJECTION_ROWS] = {};  // in registers, which `sums` need not be
  uint64_t begins[PROJECTION_ROWS];
#pragma unroll
  for (int i = 0; i < PROJECTION_ROWS; ++i) {
    const uint64_t row = share.row + uint64_t(i) * p.row_threads;
    const uint64_t outer = p.inner_rows == p.rows ? 0 : row / p.inner_rows;
    begins[i] = (row - outer * p.inner_rows) * p.row_stride + outer * p.outer_row_stride;
  }
  for (uint64_t column = share.column; column < share.last_column; column += share.column_threads) {
    const double weight = deepbench_weight(seed, column);
#pragma unroll
    for (int i = 0; i < PROJECTION_ROWS; ++i) {
      const uint64_t row = share.row + uint64_t(i) * p.row_threads;
      if (row < p.rows) mine[i] += weight * value(begins[i] + column * p.column_stride);
    }
  }
  for (int i = 0; i < PROJECTION_ROWS; ++i) sums[i] = mine[i];
}

template <class E>
__device__ void project_as(const void* data, const Projection& p, const Share& share, uint64_t seed,
                           double* sums) {
  const auto* const words = static_cast<const typename E::Word*>(data);
  add_columns(p, share, seed, sums, [&](uint64_t offset) { return E::value(words[offset]); });
}

// Of any type, and where the rows are not the operand's own.
__device__ __noinline__ void project_any(const void* data, int32_t type, const Projection& p,
                                         const Share& share, uint64_t seed, double* sums) {
  Tensor tensor = p.operand;
  if (!tensor.rows)
    tensor = Tensor{p.inner_rows, p.rows / p.inner_rows, p.row_stride, p.outer_row_stride,
                    p.column_stride};
  for (uint64_t column = share.column; column < share.last_column; column += share.column_threads) {
    const double weight = deepbench_weight(seed, column);
    for (int i = 0; i < PROJECTION_ROWS; ++i) {
      const uint64_t row = share.row + uint64_t(i) * p.row_threads;
      if (row >= p.rows) break;
      sums[i] += weight * value_at(data, type, offset_in(tensor, row + column * p.rows));
    }
  }
}

}  // namespace

// partial[row + blockIdx.y * rows] = the weighted sum over the block's columns.
extern "C" __global__ void project_columns(const void* data, int32_t type, Projection p,
                                           uint64_t seed, double* partial) {
  const Share share = share_of_thread(p);
  double sums[PROJECTION_ROWS] = {};
  // Most outputs are of these types; a loop of its own for every other would be long to compile.
  if (p.operand.rows)
    project_any(data, type, p, share, seed, sums);
  else if (type == DEEPBENCH_F32)
    project_as<Element<DEEPBENCH_F32>>(data, p, share, seed, sums);
  else if (type == DEEPBENCH_F16)
    project_as<Element<DEEPBENCH_F16>>(data, p, share, seed, sums);
  else if (type == DEEPBENCH_BF16)
    project_as<Element<DEEPBENCH_BF16>>(data, p, share, seed, sums);
  else if (type == DEEPBENCH_S32)
    project_as<Element<DEEPBENCH_S32>>(data, p, share, seed, sums);
  else if (type == DEEPBENCH_UNSIGNED_WORD)
    project_as<Element<DEEPBENCH_UNSIGNED_WORD>>(data, p, share, seed, sums);
  else
    project_any(data, type, p, share, seed, sums);
  const uint32_t member = uint32_t(share.column - blockIdx.y * p.columns_of_block);
  sum_over_block(sums, member, share.column_threads, p.columns_are_near ? 1 : p.row_threads);
  if (member != 0) return;
  for (int i = 0; i < PROJECTION_ROWS; ++i) {
    const uint64_t row = share.row + uint64_t(i) * p.row_threads;
    if (row < p.rows) partial[row + blockIdx.y * p.rows] = sums[i];
  }
}

// sums[row] = the sum of `parts` partial sums, with blocks of row_threads rows.
extern "C" __global__ void combine_parts(const double* partial, uint64_t rows, uint64_t parts,
                                         uint32_t row_threads, double* sums) {
  const uint32_t row_thread = threadIdx.x % row_threads, member = threadIdx.x / row_threads;
  const uint32_t members = OPERAND_THREADS / row_threads;
  const uint64_t row = uint64_t(blockIdx.x) * row_threads + row_thread;
  double sum[1] = {};
  if (row < rows) {
#pragma unroll 4
    for (uint64_t part = member; part < parts; part += members)
      sum[0] += partial[row + part * rows];
  }
  sum_over_block(sum, member, members, row_threads);
  if (member == 0 && row < rows) sums[row] = sum[0];
}
