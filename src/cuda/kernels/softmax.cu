// Softmax of rows and its gradient. A group of threads, which is a warp or a block, reads its row
// twice: from memory for the sums over the row, and again, mostly from the caches, for the results.
// The forward pass finds the maximum and the sum of exponentials in one pass: a thread rescales its
// sum when it finds a larger number.
#include "exponential.h"
#include "numbers.h"
#include "softmax.h"

namespace {

constexpr int kVectorsInFlight = 4;  // per thread

// The maximum of some numbers and the sum of exp(number - maximum).
struct MaximumAndSum {
  float maximum, sum;

  __device__ void add(const MaximumAndSum& other) {
    const float both = maximum > other.maximum ? maximum : other.maximum;
    // The maximum of no numbers is minus infinity, whose difference from itself is undefined.
    const float mine = maximum == both ? 1 : exponential(maximum - both);
    const float theirs = other.maximum == both ? 1 : exponential(other.maximum - both);
    sum = sum * mine + other.sum * theirs;
    maximum = both;
  }
  __device__ MaximumAndSum of_lane(uint32_t lane_mask) const {
    MaximumAndSum other;
    other.maximum = deepbench_bits_float(
        __shfl_xor_sync(0xffffffffu, deepbench_float_bits(maximum), lane_mask));
    other.sum =
        deepbench_bits_float(__shfl_xor_sync(0xffffffffu, deepbench_float_bits(sum), lane_mask));
    return other;
  }
};

struct PlainSum {
  float sum;

  __device__ void add(const PlainSum& other) { sum += other.sum; }
  __device__ PlainSum of_lane(uint32_t lane_mask) const {
    return {
        deepbench_bits_float(__shfl_xor_sync(0xffffffffu, deepbench_float_bits(sum), lane_mask))};
  }
};

// Computes a sum over a group of threads for all of them. A group of more than a warp is a whole
// block.
template <class Sum>
__device__ void combine_group(Sum& mine, bool is_block) {
  for (uint32_t distance = SOFTMAX_WARP / 2; distance > 0; distance /= 2)
    mine.add(mine.of_lane(distance));
  if (!is_block) return;
  __shared__ Sum of_warp[SOFTMAX_MOST_THREADS / SOFTMAX_WARP];
  if (threadIdx.x % SOFTMAX_WARP == 0) of_warp[threadIdx.x / SOFTMAX_WARP] = mine;
  __syncthreads();
  mine = of_warp[0];
  for (uint32_t warp = 1; warp < blockDim.x / SOFTMAX_WARP; ++warp) mine.add(of_warp[warp]);
}

// The part of a row that a thread of a group reads: every `step`-th vector or number.
struct ThreadPart {
  uint64_t first, step;
};

// Calls body(index, values of up to two arrays) for the vectors of a row, or for its numbers one by
// one if rows do not begin at multiples of 16 bytes.
template <class T, bool kAligned, bool kTwo, class Body>
__device__ void for_each_vector(const SoftmaxArrays& arrays, uint64_t row, const ThreadPart& part,
                                Body body) {
  using V = Vector<T>;
  const uint64_t begin = row * arrays.columns;
  float x[V::kNumbers], dy[V::kNumbers];
  if (!kAligned) {
    for (uint64_t i = part.first; i < arrays.columns; i += part.step) {
      x[0] = number_at<T>(arrays.x, begin + i);
      if (kTwo) dy[0] = number_at<T>(arrays.dy, begin + i);
      body(begin + i, x, dy);
    }
    return;
  }
  const uint64_t vectors = arrays.columns / V::kNumbers, offset = begin / V::kNumbers;
  const auto* const from_x = static_cast<const uint4*>(arrays.x) + offset;
  const auto* const from_dy = static_cast<const uint4*>(arrays.dy) + offset;
  constexpr int kVectors = kTwo ? kVectorsInFlight / 2 : kVectorsInFlight;
  for (uint64_t i = part.first; i < vectors; i += kVectors * part.step) {
    uint4 of_x[kVectors], of_dy[kVectors];
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (const uint64_t at = i + k * part.step; at < vectors) {
        of_x[k] = from_x[at];
        if (kTwo) of_dy[k] = from_dy[at];
      }
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (const uint64_t at = i + k * part.step; at < vectors) {
        V::widen(of_x[k], x);
        if (kTwo) V::widen(of_dy[k], dy);
        body(offset + at, x, dy);
      }
  }
}

template <class T, bool kAligned>
__device__ void store(void* result, uint64_t index, const float* values) {
  if (kAligned)
    static_cast<uint4*>(result)[index] = Vector<T>::rounded(values);
  else
    store_number<T>(result, index, values[0]);
}

template <class T, bool kAligned>
__device__ void forward_row(const SoftmaxArrays& arrays, uint64_t row, const ThreadPart& part,
                            bool is_block) {
  constexpr int kNumbers = kAligned ? Vector<T>::kNumbers : 1;
  MaximumAndSum all = {-deepbench_bits_float(0x7f800000u), 0};
  for_each_vector<T, kAligned, false>(arrays, row, part,
                                      [&](uint64_t, const float* x, const float*) {
                                        MaximumAndSum vector = {x[0], 0};
#pragma unroll
                                        for (int i = 1; i < kNumbers; ++i)
                                          if (x[i] > vector.maximum) vector.maximum = x[i];
                                        if (all.maximum > vector.maximum)
                                          vector.maximum = all.maximum;
#pragma unroll
                                        for (int i = 0; i < kNumbers; ++i)
                                          vector.sum += exponential(x[i] - vector.maximum);
                                        all.add(vector);
                                      });
  combine_group(all, is_block);
  const float inverse = 1 / all.sum;
  for_each_vector<T, kAligned, false>(arrays, row, part,
                                      [&](uint64_t index, const float* x, const float*) {
                                        float y[kNumbers];
#pragma unroll
                                        for (int i = 0; i < kNumbers; ++i)
                                          y[i] = exponential(x[i] - all.maximum) * inverse;
                                        store<T, kAligned>(arrays.result, index, y);
                                      });
}

template <class T, bool kAligned>
__device__ void gradient_row(const SoftmaxArrays& arrays, uint64_t row, const ThreadPart& part,
                             bool is_block) {
  constexpr int kNumbers = kAligned ? Vector<T>::kNumbers : 1;
  PlainSum all = {0};
  for_each_vector<T, kAligned, true>(arrays, row, part,
                                     [&](uint64_t, const float* y, const float* dy) {
#pragma unroll
                                       for (int i = 0; i < kNumbers; ++i) all.sum += y[i] * dy[i];
                                     });
  combine_group(all, is_block);
  for_each_vector<T, kAligned, true>(arrays, row, part,
                                     [&](uint64_t index, const float* y, const float* dy) {
                                       float dx[kNumbers];
#pragma unroll
                                       for (int i = 0; i < kNumbers; ++i)
                                         dx[i] = y[i] * (dy[i] - all.sum);
                                       store<T, kAligned>(arrays.result, index, dx);
                                     });
}

}  // namespace

// kBlock: a block handles each row; otherwise a warp does. kAligned: rows begin at multiples of 16
// bytes.
template <class T, bool kForward, bool kBlock, bool kAligned>
__global__ void __launch_bounds__(kBlock ? SOFTMAX_MOST_THREADS : SOFTMAX_THREADS)
    softmax_rows(SoftmaxArrays arrays) {
  const uint32_t group = kBlock ? blockDim.x : SOFTMAX_WARP;
  const uint64_t row = blockIdx.x * uint64_t(blockDim.x / group) + threadIdx.x / group;
  if (row >= arrays.rows) arrays.columns = 0;  // a warp without a row takes part in barriers
  const ThreadPart part = {threadIdx.x % group, group};
  if (kForward)
    forward_row<T, kAligned>(arrays, row, part, kBlock);
  else
    gradient_row<T, kAligned>(arrays, row, part, kBlock);
}
