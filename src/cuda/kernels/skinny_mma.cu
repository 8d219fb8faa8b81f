// Products of 16-bit types with few columns, D = A B + C, on tensor cores with float accumulation.
// The duration of such a product is the time to load A plus the overhead of start and end. A warp
// therefore issues as many loads as its registers can hold before it multiplies anything, and it
// overlaps all waits: for operands, for C and for the other blocks.
#include "cached_loads.h"
#include "cluster.h"
#include "skinny_mma.h"
#include "tensor_core.h"

namespace few_columns_mma {

// ---- one step's elements of A ------------------------------------------------------------------

// The assignment of rows of A to rows of a tile is free, and so is the order of k if B uses the
// same order. Each thread therefore holds consecutive rows across all tiles and eight consecutive
// elements of k: its loads are contiguous in both layouts, and its results come in pairs. Row r of
// tile j is row 2 kRows (r % 8) + 2 j + r / 8 of the block.
template <bool kTransposed, uint32_t kRows>
struct OperandSlice;

template <uint32_t kRows>
struct OperandSlice<true, kRows> {  // k is contiguous in memory
  uint4 rows[2 * kRows];

  __device__ void load(const SkinnyMmaProduct& product, uint32_t row, uint32_t k) {
    const uint16_t* const from = product.a + uint64_t(row) * product.k + k;
#pragma unroll
    for (uint32_t i = 0; i < 2 * kRows; ++i)
      rows[i] = load_uncached(reinterpret_cast<const uint4*>(from + uint64_t(i) * product.k));
  }

  // Returns the tile for the first four elements of k or, if `last`, for the last four.
  __device__ uint4 tile(uint32_t number, bool last) const {
    const uint4 upper = rows[2 * number], lower = rows[2 * number + 1];
    return last ? uint4{upper.z, lower.z, upper.w, lower.w}
                : uint4{upper.x, lower.x, upper.y, lower.y};
  }
};

template <>
struct OperandSlice<false, 2> {  // rows are contiguous in memory
  uint2 numbers[8];              // four rows for each element of k

  __device__ void load(const SkinnyMmaProduct& product, uint32_t row, uint32_t k) {
    const uint16_t* const from = product.a + uint64_t(k) * product.m + row;
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i)
      numbers[i] = load_uncached(reinterpret_cast<const uint2*>(from + uint64_t(i) * product.m));
  }

  __device__ uint32_t rows_of(uint32_t number, uint32_t i) const {
    return number == 0 ? numbers[i].x : numbers[i].y;
  }
  __device__ uint4 tile(uint32_t number, bool last) const {
    const uint32_t i = last ? 4 : 0;
    const uint32_t one = rows_of(number, i), two = rows_of(number, i + 1);
    const uint32_t three = rows_of(number, i + 2), four = rows_of(number, i + 3);
    constexpr uint32_t kUpper = 0x5410, kLower = 0x7632;
    return {__byte_perm(one, two, kUpper), __byte_perm(one, two, kLower),
            __byte_perm(three, four, kUpper), __byte_perm(three, four, kLower)};
  }
};

// ---- a block ------------------------------------------------------------------------------------

template <int kType, bool kTransposed, uint32_t kColumns, uint32_t kRows, uint32_t kWarps,
          uint32_t kSplit, bool kWholeSteps>
struct Block {
  using T = SixteenBitFloat<kType>;
  static constexpr SkinnyMmaShape kShape = {kColumns, kRows, kWarps, kSplit};
  static constexpr uint32_t kTiles = skinny_mma_tiles(kShape), kParts = skinny_mma_parts(kShape);
  static constexpr uint32_t kTilesPerBlock = skinny_mma_tiles_per_block(kShape);
  static constexpr uint32_t kRounds =
      (kTilesPerBlock + kWarps - 1) / kWarps;  // number of tiles that one warp finishes

  const SkinnyMmaProduct& product;
  float4* const parts;  // [local tile][part][lane]
  const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t rank = blockIdx.x % kSplit, part = rank * kWarps + warp;
  // The thread's first row, and its first element of k within a step.
  const uint32_t row = (blockIdx.x / kSplit * 8 + lane / 4) * 2 * kRows, number = lane % 4 * 8;

  // ---- products ---------------------------------------------------------------------------------

  struct Step {
    OperandSlice<kTransposed, kRows> a;
    uint4 b[kColumns];
  };

  // Loads beyond the last row or column read the last one instead, since no result of them is
  // stored. Beyond the end of k both operands are zeros: an infinity times zero is not a number.
  __device__ void load(Step& step, uint32_t which) const {
    const uint32_t at = which * SKINNY_MMA_STEP + number;
    if (!kWholeSteps && at >= product.k) {
      step = {};
      return;
    }
    step.a.load(product, min(row, product.m - 2 * kRows), at);
#pragma unroll
    for (uint32_t i = 0; i < kColumns; ++i) {
      const uint32_t column = min(i * 8 + lane / 4, product.n - 1);
      step.b[i] = load_cached(
          reinterpret_cast<const uint4*>(product.b + uint64_t(column) * product.k + at));
    }
  }
  __device__ void multiply(const Step& step, float (&sums)[kRows][kColumns][4]) const {
#pragma unroll
    for (uint32_t j = 0; j < kRows; ++j)
#pragma unroll
      for (uint32_t i = 0; i < kColumns; ++i) {
        const uint4 b = step.b[i];
        T::multiply(sums[j][i], step.a.tile(j, false), {b.x, b.y});
        T::multiply(sums[j][i], step.a.tile(j, true), {b.z, b.w});
      }
  }
  __device__ void multiply_part(float (&sums)[kRows][kColumns][4]) const {
    const uint32_t all = (product.k + SKINNY_MMA_STEP - 1) / SKINNY_MMA_STEP;
    const uint32_t begin = part * product.part_steps, end = min(begin + product.part_steps, all);
    Step steps[SKINNY_MMA_DEPTH];
#pragma unroll
    for (uint32_t i = 0; i < SKINNY_MMA_DEPTH; ++i)
      if (begin + i < end) load(steps[i], begin + i);
    for (uint32_t at = begin; at < end; at += SKINNY_MMA_DEPTH)
#pragma unroll
      for (uint32_t i = 0; i < SKINNY_MMA_DEPTH; ++i) {
        if (at + i >= end) break;
        multiply(steps[i], sums);
        if (at + i + SKINNY_MMA_DEPTH < end) load(steps[i], at + i + SKINNY_MMA_DEPTH);
      }
  }

  // ---- results ----------------------------------------------------------------------------------

  __device__ float4* partial_sum(uint32_t local_tile, uint32_t of_part) const {
    return parts + (local_tile * kParts + of_part) * 32 + lane;
  }
  // Distributes the partial sums of the tiles among the blocks of the cluster.
  __device__ void distribute_tiles(const float (&sums)[kRows][kColumns][4]) const {
#pragma unroll
    for (uint32_t j = 0; j < kRows; ++j)
#pragma unroll
      for (uint32_t i = 0; i < kColumns; ++i) {
        const uint32_t tile = j * kColumns + i;
        const float(&v)[4] = sums[j][i];
        float4* const to = partial_sum(tile / kSplit, part);
        if constexpr (kSplit > 1)
          store_to_block(tile % kSplit, to, v);
        else
          *to = {v[0], v[1], v[2], v[3]};
      }
  }

  // The tile that the warp finishes in a turn. The thread holds two neighboring rows of two columns
  // of this tile.
  __device__ uint32_t local_tile_of(uint32_t turn) const { return turn * kWarps + warp; }
  __device__ uint32_t tile_of(uint32_t turn) const { return local_tile_of(turn) * kSplit + rank; }
  __device__ uint32_t column_of(uint32_t turn, uint32_t which) const {
    return tile_of(turn) % kColumns * 8 + lane % 4 * 2 + which;
  }
  __device__ uint64_t index_of(uint32_t turn, uint32_t which) const {
    return uint64_t(column_of(turn, which)) * product.m + row + tile_of(turn) / kColumns * 2;
  }
  __device__ bool has_output(uint32_t turn, uint32_t which) const {
    return local_tile_of(turn) < kTilesPerBlock && tile_of(turn) < kTiles && row < product.m &&
           column_of(turn, which) < product.n;
  }

  __device__ void load_c(uint32_t (&c)[kRounds][2]) const {
#pragma unroll
    for (uint32_t turn = 0; turn < kRounds; ++turn)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i)
        if (has_output(turn, i))
          c[turn][i] = *reinterpret_cast<const uint32_t*>(product.c + index_of(turn, i));
  }
  __device__ float4 sum_of(uint32_t local_tile) const {
    float4 sum = {0, 0, 0, 0};
#pragma unroll
    for (uint32_t i = 0; i < kParts; ++i) {
      const float4 v = *partial_sum(local_tile, i);
      sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    return sum;
  }
  __device__ void store(uint64_t index, uint32_t c, float upper, float lower) const {
    const uint32_t first = T::from_float(upper + T::to_float(uint16_t(c)));
    const uint32_t second = T::from_float(lower + T::to_float(uint16_t(c >> 16)));
    *reinterpret_cast<uint32_t*>(product.d + index) = first | second << 16;
  }
  __device__ void store_results(const uint32_t (&c)[kRounds][2]) const {
#pragma unroll
    for (uint32_t turn = 0; turn < kRounds; ++turn) {
      if (!has_output(turn, 0)) continue;
      const float4 sum = sum_of(local_tile_of(turn));
      store(index_of(turn, 0), c[turn][0], sum.x, sum.z);
      if (has_output(turn, 1)) store(index_of(turn, 1), c[turn][1], sum.y, sum.w);
    }
  }

  __device__ void run() const {
    if constexpr (kSplit > 1) cluster_arrive();
    uint32_t c[kRounds][2] = {};
    load_c(c);
    float sums[kRows][kColumns][4] = {};
    multiply_part(sums);
    if constexpr (kSplit > 1) cluster_wait();
    distribute_tiles(sums);
    if constexpr (kSplit > 1)
      cluster_barrier();
    else
      __syncthreads();
    store_results(c);
  }
};

}  // namespace few_columns_mma

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define DEEPBENCH_CLUSTER(blocks)  // one block per cluster
#else
#define DEEPBENCH_CLUSTER(blocks) __cluster_dims__(blocks, 1, 1)
#endif

// kType is DEEPBENCH_F16 or DEEPBENCH_BF16. kColumns counts groups of 8 columns, kRows groups of 16
// rows of A (it must be 2 if A is not transposed). The kWarps warps of a block and the kSplit
// blocks of a cluster divide k among them. kWholeSteps: k is a multiple of SKINNY_MMA_STEP.
template <int kType, bool kTransposed, uint32_t kColumns, uint32_t kRows, uint32_t kWarps,
          uint32_t kSplit, bool kWholeSteps>
__global__ void DEEPBENCH_CLUSTER(kSplit) __launch_bounds__(32 * kWarps, 1)
    skinny_mma(const __grid_constant__ SkinnyMmaProduct product) {
  extern __shared__ __align__(16) float4 parts[];
  using Block =
      few_columns_mma::Block<kType, kTransposed, kColumns, kRows, kWarps, kSplit, kWholeSteps>;
  Block{product, parts}.run();
}
