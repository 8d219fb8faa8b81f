// Products of 8-bit integers with few columns, D = A B + C. A is read once at the full bandwidth of
// memory, and all other work overlaps with these loads. A group of kLanes neighboring threads
// handles kRows rows: each thread reads every kLanes-th vector of each row, kDepth of them at once.
// Rows of A and columns of B are contiguous along k.
#include "cached_loads.h"
#include "skinny.h"

namespace few_columns {

// ---- instructions -------------------------------------------------------------------------------

// Returns sum plus the product of two vectors of four numbers, modulo 2^32.
__device__ inline uint32_t multiply(uint32_t a, uint32_t b, uint32_t sum) {
#ifdef __CUDACC__
  uint32_t result;
  asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
#else
  for (int byte = 0; byte < 32; byte += 8)
    sum += uint32_t(int32_t((signed char)(a >> byte)) * int32_t((signed char)(b >> byte)));
  return sum;
#endif
}

__device__ inline uint32_t multiply(const uint4& a, const uint4& b, uint32_t sum) {
  sum = multiply(a.x, b.x, sum);
  sum = multiply(a.y, b.y, sum);
  sum = multiply(a.z, b.z, sum);
  return multiply(a.w, b.w, sum);
}

// ---- products -----------------------------------------------------------------------------------

// The sums of one thread: sums[column * kRows + row].
template <int kColumns, int kRows, int kDepth, int kLanes>
struct LaneAccumulator {
  const uint4* a[kRows];
  const uint4* b;
  uint32_t column;  // distance between columns of B, in vectors
  uint32_t sums[kColumns * kRows];

  // Multiplies the vectors at, at + kLanes, and so on. kWhole states that all of them lie before
  // the end. Otherwise, the last vector is read again in place of each vector beyond the end and
  // multiplied by zeros, so that no branch separates two loads.
  template <bool kWhole>
  __device__ void multiply_at(uint32_t at, uint32_t end) {
    uint4 of_a[kDepth][kRows], of_b[kDepth][kColumns];
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const uint32_t from = clamped_index<kWhole>(at + uint32_t(i * kLanes), end);
#pragma unroll
      for (int row = 0; row < kRows; ++row) of_a[i][row] = load_uncached(a[row] + from);
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const uint32_t from = clamped_index<kWhole>(at + uint32_t(i * kLanes), end);
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        of_b[i][j] = load_cached(b + (uint64_t(j) * column + from));
        if (!kWhole && at + uint32_t(i * kLanes) >= end) of_b[i][j] = {0, 0, 0, 0};
      }
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i)
#pragma unroll
      for (int j = 0; j < kColumns; ++j)
#pragma unroll
        for (int row = 0; row < kRows; ++row) {
          uint32_t& sum = sums[j * kRows + row];
          sum = multiply(of_a[i][row], of_b[i][j], sum);
        }
  }

  template <bool kWhole>
  static __device__ uint32_t clamped_index(uint32_t at, uint32_t end) {
    return kWhole || at < end ? at : end - 1;
  }

  __device__ void multiply_all(uint32_t begin, uint32_t end, uint32_t lane) {
#pragma unroll
    for (int i = 0; i < kColumns * kRows; ++i) sums[i] = 0;
    uint32_t at = begin;
#pragma unroll 1
    for (; at + kDepth * kLanes <= end; at += kDepth * kLanes) multiply_at<true>(at + lane, end);
    if (at < end) multiply_at<false>(at + lane, end);
  }
};

// ---- sums over a group --------------------------------------------------------------------------

// Describes how kLanes threads add kValues values: while the number of values per thread is even,
// each pair of threads splits its values in halves, which leaves few values for the last steps.
template <int kValues, int kLanes>
struct GroupSum {
  static constexpr bool kHalves = kLanes > 1 && kValues % 2 == 0;
  using Next = GroupSum<kHalves ? kValues / 2 : kValues, kHalves ? kLanes / 2 : 1>;
  // The number of values that a thread holds at the end, and the number of threads that hold the
  // same values.
  static constexpr int kValuesPerThread = Next::kValuesPerThread;
  static constexpr int kThreadsPerValue = kHalves ? Next::kThreadsPerValue : kLanes;
};
template <int kValues>
struct GroupSum<kValues, 1> {
  static constexpr int kValuesPerThread = kValues, kThreadsPerValue = 1;
};

// On return, a thread holds the sums of the kValuesPerThread values from lane / kThreadsPerValue *
// kValuesPerThread on.
template <int kValues, int kLanes>
__device__ void sum_over_group(uint32_t* values, uint32_t lane) {
  if constexpr (kLanes > 1) {
    constexpr uint32_t kApart = kLanes / 2;
    if constexpr (kValues % 2 == 0) {
      constexpr int kHalf = kValues / 2;
      const bool upper = (lane & kApart) != 0;
#pragma unroll
      for (int i = 0; i < kHalf; ++i) {
        const uint32_t given = upper ? values[i] : values[i + kHalf];
        const uint32_t kept = upper ? values[i + kHalf] : values[i];
        values[i] = kept + __shfl_xor_sync(0xffffffffu, given, kApart);
      }
      sum_over_group<kHalf, kLanes / 2>(values, lane);
    } else {
#pragma unroll
      for (int i = 0; i < kValues; ++i)
        values[i] += __shfl_xor_sync(0xffffffffu, values[i], kApart);
      sum_over_group<kValues, kLanes / 2>(values, lane);
    }
  }
}

// Returns whether this block is the last one to finish among those that share its rows. Writes of
// the other blocks that precede their call are visible after it.
__device__ inline bool is_last_part(uint32_t* arrivals) {
  __shared__ uint32_t before;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) before = atomicInc(arrivals + blockIdx.x, gridDim.y - 1);  // wraps to 0
  __syncthreads();
  __threadfence();
  return before + 1 == gridDim.y;
}

// Adds the sums of the block's rows to C and resets them to zero for the next call.
template <int kColumns>
__device__ void store_results(const SkinnyProduct& product, uint32_t first_row, uint32_t rows) {
  const auto* const c = static_cast<const uint32_t*>(product.c);
  auto* const d = static_cast<uint32_t*>(product.d);
  for (uint32_t i = threadIdx.x; i < rows * kColumns; i += blockDim.x) {
    const uint32_t row = first_row + i % rows;
    if (row >= product.m) continue;
    const uint64_t offset = uint64_t(i / rows) * product.m + row;
    d[offset] = c[offset] + atomicExch(product.sums + offset, 0u);
  }
}

}  // namespace few_columns

template <int kColumns, int kRows, int kDepth, int kLanes, bool kSplit>
__global__ void __launch_bounds__(SKINNY_THREADS, 1) skinny(SkinnyProduct product) {
  using namespace few_columns;
  constexpr int kValues = kColumns * kRows;
  using Sums = GroupSum<kValues, kLanes>;
  const uint32_t lane = threadIdx.x % kLanes, rows = blockDim.x / kLanes * kRows;
  const uint32_t first_row = blockIdx.x * rows;
  const uint32_t row = first_row + threadIdx.x / kLanes * kRows;
  const uint32_t begin = kSplit ? blockIdx.y * product.part_vectors : 0;
  const uint32_t rest = product.vectors - begin;
  const uint32_t end =
      kSplit && product.part_vectors < rest ? begin + product.part_vectors : product.vectors;

  LaneAccumulator<kColumns, kRows, kDepth, kLanes> mine;
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    // This row is read but not written.
    const uint32_t source_row = row + i < product.m ? row + i : product.m - 1;
    mine.a[i] = static_cast<const uint4*>(product.a) + uint64_t(source_row) * product.vectors;
  }
  mine.b = static_cast<const uint4*>(product.b);
  mine.column = product.vectors;

  // The positions of the thread's sums: value v belongs to row v % kRows and column v / kRows.
  const uint32_t first = lane / Sums::kThreadsPerValue * Sums::kValuesPerThread;
  const bool writes = lane % Sums::kThreadsPerValue == 0;
  uint64_t offsets[Sums::kValuesPerThread];
  bool is_mine[Sums::kValuesPerThread];
  uint32_t before[Sums::kValuesPerThread];
#pragma unroll
  for (int i = 0; i < Sums::kValuesPerThread; ++i) {
    const uint32_t to = row + (first + i) % kRows;
    offsets[i] = uint64_t((first + i) / kRows) * product.m + to;
    is_mine[i] = writes && to < product.m;
    before[i] = 0;  // makes loads of C overlap with those of A
    if (!kSplit && is_mine[i]) before[i] = static_cast<const uint32_t*>(product.c)[offsets[i]];
  }

  mine.multiply_all(begin, end, lane);
  sum_over_group<kValues, kLanes>(mine.sums, lane);

#pragma unroll
  for (int i = 0; i < Sums::kValuesPerThread; ++i) {
    if (!is_mine[i]) continue;
    if (kSplit)
      atomicAdd(product.sums + offsets[i], mine.sums[i]);
    else
      static_cast<uint32_t*>(product.d)[offsets[i]] = before[i] + mine.sums[i];
  }
  if (kSplit && is_last_part(product.arrivals)) store_results<kColumns>(product, first_row, rows);
}
