// The weighted row sums that verify a whole output. Each block sums some of the columns; a second
// kernel adds these partial sums. The order of additions is fixed, so that every run returns the
// same sum.
#include "element.h"

namespace {

// The elements that one thread sums: rows row + i*row_threads and every column_threads-th column of
// the block.
struct ThreadShare {
  uint64_t row, column, last_column;
  uint32_t column_threads;
};

__device__ ThreadShare share_of_thread(const Projection& p) {
  ThreadShare share;
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
__device__ void add_columns(const Projection& p, const ThreadShare& share, uint64_t seed,
                            double* sums, Value value) {
  double mine[PROJECTION_ROWS] = {};  // in registers, where `sums` may not be
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
__device__ void project_as(const void* data, const Projection& p, const ThreadShare& share,
                           uint64_t seed, double* sums) {
  const auto* const words = static_cast<const typename E::Word*>(data);
  add_columns(p, share, seed, sums, [&](uint64_t offset) { return E::value(words[offset]); });
}

// Projects elements of any type, and operands whose rows `p.operand` describes.
__device__ __noinline__ void project_any(const void* data, int32_t type, const Projection& p,
                                         const ThreadShare& share, uint64_t seed, double* sums) {
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

// Sets partial[row + blockIdx.y * rows] to the weighted sum over the block's columns.
extern "C" __global__ void project_columns(const void* data, int32_t type, Projection p,
                                           uint64_t seed, double* partial) {
  const ThreadShare share = share_of_thread(p);
  double sums[PROJECTION_ROWS] = {};
  // Most outputs have one of these types. A specialized loop for every other type would take long
  // to compile.
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

// Sets sums[row] to the sum of `parts` partial sums. A block handles row_threads rows.
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
