// Reads, writes and copies memory at the full rate of the device: 16 bytes per access, a contiguous
// range for each block, several accesses per thread in flight at once. Buffers must be aligned to
// 16 bytes; their sizes are counted in 32-bit words.
#include "fill.h"

namespace {

constexpr int kVectorsInFlight = 8;  // accesses per thread

// The block's part of the buffer, in vectors of four words. The last block also handles the
// remaining words.
struct BlockPart {
  uint64_t begin, end;            // vectors
  uint64_t tail_begin, tail_end;  // words
};

__device__ BlockPart part_of_block(uint64_t words) {
  const uint64_t vectors = words / 4, share = vectors / gridDim.x, rest = vectors % gridDim.x;
  const uint64_t block = blockIdx.x;
  BlockPart part;
  part.begin = block * share + (block < rest ? block : rest);
  part.end = part.begin + share + (block < rest ? 1 : 0);
  part.tail_begin = block + 1 == gridDim.x ? vectors * 4 : words;
  part.tail_end = words;
  return part;
}

// Calls body(k, i) for kVectorsInFlight vectors (k = 0 .. kVectorsInFlight-1, i the vector's
// index), then after(k, i) for the same vectors, until the part is done.
template <class Body, class After>
__device__ void for_vectors(const BlockPart& part, Body body, After after) {
  uint64_t at = part.begin + threadIdx.x;
  for (; at + (kVectorsInFlight - 1) * blockDim.x < part.end; at += kVectorsInFlight * blockDim.x) {
#pragma unroll
    for (int k = 0; k < kVectorsInFlight; ++k) body(k, at + k * blockDim.x);
#pragma unroll
    for (int k = 0; k < kVectorsInFlight; ++k) after(k, at + k * blockDim.x);
  }
#pragma unroll
  for (int k = 0; k < kVectorsInFlight; ++k)
    if (at + k * blockDim.x < part.end) body(k, at + k * blockDim.x);
#pragma unroll
  for (int k = 0; k < kVectorsInFlight; ++k)
    if (at + k * blockDim.x < part.end) after(k, at + k * blockDim.x);
}

__device__ uint32_t xor_over_block(uint32_t value) {
  __shared__ uint32_t of_warp[32];
  for (int distance = 16; distance > 0; distance /= 2)
    value ^= __shfl_xor_sync(0xffffffffu, value, distance);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0;
  __syncthreads();
  for (int distance = 16; distance > 0; distance /= 2)
    value ^= __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

}  // namespace

// Sets partial[block] to the xor of the block's words. The host combines them outside the call:
// waiting for the last block would reduce the rate of a cache-resident read by a fifth.
extern "C" __global__ void __launch_bounds__(512)
    read_words(const uint32_t* words, uint64_t count, uint32_t* partial) {
  const BlockPart part = part_of_block(count);
  const auto* const in = reinterpret_cast<const uint4*>(words);
  uint4 vectors[kVectorsInFlight], total = {0, 0, 0, 0};
  for_vectors(
      part, [&](int k, uint64_t at) { vectors[k] = __ldcg(in + at); },
      [&](int k, uint64_t) {
        total.x ^= vectors[k].x, total.y ^= vectors[k].y;
        total.z ^= vectors[k].z, total.w ^= vectors[k].w;
      });
  uint32_t value = total.x ^ total.y ^ total.z ^ total.w;
  const uint64_t tail = part.tail_begin + threadIdx.x;
  if (tail < part.tail_end) value ^= words[tail];
  value = xor_over_block(value);
  if (threadIdx.x == 0) partial[blockIdx.x] = value;
}

extern "C" __global__ void __launch_bounds__(512)
    write_words(uint32_t* words, uint64_t count, uint32_t pattern) {
  const BlockPart part = part_of_block(count);
  auto* const out = reinterpret_cast<uint4*>(words);
  const uint4 vector = {pattern, pattern, pattern, pattern};
  for_vectors(
      part, [&](int, uint64_t at) { out[at] = vector; }, [](int, uint64_t) {});
  const uint64_t tail = part.tail_begin + threadIdx.x;
  if (tail < part.tail_end) words[tail] = pattern;
}

extern "C" __global__ void __launch_bounds__(512)
    copy_words(uint32_t* to, const uint32_t* from, uint64_t count) {
  const BlockPart part = part_of_block(count);
  const auto* const in = reinterpret_cast<const uint4*>(from);
  auto* const out = reinterpret_cast<uint4*>(to);
  uint4 vectors[kVectorsInFlight];
  for_vectors(
      part, [&](int k, uint64_t at) { vectors[k] = __ldcg(in + at); },
      [&](int k, uint64_t at) { out[at] = vectors[k]; });
  const uint64_t tail = part.tail_begin + threadIdx.x;
  if (tail < part.tail_end) to[tail] = from[tail];
}

// Fills the words of memory problems (ops/memory/memory.hpp): random even words if `uniform` is
// set, otherwise a constant.
extern "C" __global__ void fill_words(uint32_t* words, uint64_t count, uint32_t uniform,
                                      uint32_t constant, uint64_t seed) {
  const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    words[i] = uniform ? uint32_t(deepbench_bits(seed, 0, i) >> 32) & ~1u : constant;
}
