// The softmax of attention that is composed from products, and its gradient: one or eight warps
// take a row of scores in float and write its weights. The softmax reads each score twice, and no
// score of a masked key.
#include "attention_softmax.h"
#include "fill.h"
#include "numbers.h"

namespace attention {

// ---- numbers ------------------------------------------------------------------------------------

__device__ inline float exp2_approximate(float x) {
#ifdef __CUDACC__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return exp2f(x);
#endif
}

constexpr float kLog2E = 1.442695041f;

template <int kType>
__device__ inline float number_at(const void* numbers, uint64_t index) {
  if (kType == DEEPBENCH_F32) return static_cast<const float*>(numbers)[index];
  const uint16_t code = static_cast<const uint16_t*>(numbers)[index];
  return kType == DEEPBENCH_F16 ? Half::value_of(code) : Bfloat16::value_of(code);
}

template <int kType>
__device__ inline uint32_t bits_of_16(float weight) {
  return kType == DEEPBENCH_F16 ? Half::code_of(weight) : Bfloat16::code_of(weight);
}

__device__ inline float lowest() { return deepbench_bits_float(0xff800000u); }  // -infinity

// ---- chunks of a row ----------------------------------------------------------------------------

// Neighboring elements that a thread loads and stores together: 8, in vectors of 16 bytes, or 1.
template <int kVector>
struct Chunk {
  float values[kVector];
};

__device__ inline void load(const float* from, Chunk<1>& chunk) { chunk.values[0] = *from; }
__device__ inline void load(const float* from, Chunk<8>& chunk) {
  const uint4* const vectors = reinterpret_cast<const uint4*>(from);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint4 vector = vectors[i];
    chunk.values[4 * i] = deepbench_bits_float(vector.x);
    chunk.values[4 * i + 1] = deepbench_bits_float(vector.y);
    chunk.values[4 * i + 2] = deepbench_bits_float(vector.z);
    chunk.values[4 * i + 3] = deepbench_bits_float(vector.w);
  }
}

template <int kType>
__device__ inline void store(const Chunk<1>& chunk, void* weights, uint64_t index) {
  if (kType == DEEPBENCH_F32)
    static_cast<float*>(weights)[index] = chunk.values[0];
  else
    static_cast<uint16_t*>(weights)[index] = uint16_t(bits_of_16<kType>(chunk.values[0]));
}

template <int kType>
__device__ inline uint32_t pair(const Chunk<8>& chunk, int first) {
  return bits_of_16<kType>(chunk.values[first]) | bits_of_16<kType>(chunk.values[first + 1]) << 16;
}

template <int kType>
__device__ inline void store(const Chunk<8>& chunk, void* weights, uint64_t index) {
  if (kType == DEEPBENCH_F32) {
    uint4* const vectors = reinterpret_cast<uint4*>(static_cast<float*>(weights) + index);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float* const from = chunk.values + 4 * i;
      vectors[i] = {deepbench_float_bits(from[0]), deepbench_float_bits(from[1]),
                    deepbench_float_bits(from[2]), deepbench_float_bits(from[3])};
    }
  } else {
    *reinterpret_cast<uint4*>(static_cast<uint16_t*>(weights) + index) = {
        pair<kType>(chunk, 0), pair<kType>(chunk, 2), pair<kType>(chunk, 4), pair<kType>(chunk, 6)};
  }
}

// ---- a row --------------------------------------------------------------------------------------

struct Keys {  // [begin, end)
  uint32_t begin, end;
};

__device__ inline Keys keys_of(const AttentionSoftmax& softmax, uint64_t row) {
  if (row >= softmax.rows) return {0, 0};
  if (!softmax.is_masked) return {0, softmax.keys};
  const int32_t own = int32_t(uint32_t(row % softmax.queries)) + softmax.diagonal;
  const int32_t end = own < 0 ? 0 : own < int32_t(softmax.keys) ? own + 1 : int32_t(softmax.keys);
  int32_t begin = softmax.window ? own + 1 - int32_t(softmax.window) : 0;
  begin = begin < 0 ? 0 : begin < end ? begin : end;
  return {uint32_t(begin), uint32_t(end)};
}

// The largest score, and the sum of the weights relative to it.
struct Sums {
  float largest, sum;

  __device__ void add(const Sums& other, float factor) {
    const float before = largest;
    largest = other.largest > largest ? other.largest : largest;
    if (largest == lowest()) return;  // neither has a key
    sum = sum * exp2_approximate((before - largest) * factor) +
          other.sum * exp2_approximate((other.largest - largest) * factor);
  }
};

// The initial sums of a thread: one thread of a row starts from the sink of the row's head.
__device__ inline Sums sink_of(const AttentionSoftmax& softmax, const float* sinks, uint64_t row) {
  if (!sinks || threadIdx.x != 0) return {lowest(), 0};
  return {sinks[row / softmax.queries % softmax.heads] * softmax.inverse_scale, 1};
}

template <int kVector>
__device__ inline Sums sums_of(const Chunk<kVector>& chunk, uint32_t first, const Keys& keys,
                               float factor) {
  Sums sums = {lowest(), 0};
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const bool is_seen = first + i >= keys.begin && first + i < keys.end;
    if (is_seen && chunk.values[i] > sums.largest) sums.largest = chunk.values[i];
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const bool is_seen = first + i >= keys.begin && first + i < keys.end;
    if (is_seen) sums.sum += exp2_approximate((chunk.values[i] - sums.largest) * factor);
  }
  return sums;
}

__device__ inline float exchange(float value, uint32_t distance) {
  return deepbench_bits_float(__shfl_xor_sync(0xffffffffu, deepbench_float_bits(value), distance));
}

// Adds up the sums of all threads of a row. All threads of the block take part.
template <int kWarps>
__device__ inline Sums combine(Sums sums, float factor) {
#pragma unroll
  for (uint32_t distance = ATTENTION_WARP / 2; distance > 0; distance /= 2)
    sums.add({exchange(sums.largest, distance), exchange(sums.sum, distance)}, factor);
  if (kWarps == 1) return sums;
  __shared__ float of_warps[2 * ATTENTION_WARPS];
  if (threadIdx.x % ATTENTION_WARP == 0) {
    of_warps[2 * (threadIdx.x / ATTENTION_WARP)] = sums.largest;
    of_warps[2 * (threadIdx.x / ATTENTION_WARP) + 1] = sums.sum;
  }
  __syncthreads();
  sums = {lowest(), 0};
  for (int warp = 0; warp < kWarps; ++warp)
    sums.add({of_warps[2 * warp], of_warps[2 * warp + 1]}, factor);
  return sums;
}

template <int kVector>
__device__ inline void to_weights(Chunk<kVector>& chunk, uint32_t first, const Keys& keys,
                                  const Sums& sums, float factor) {
  const float reciprocal = 1.0f / sums.sum;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const bool is_seen = first + i >= keys.begin && first + i < keys.end;
    chunk.values[i] =
        is_seen ? exp2_approximate((chunk.values[i] - sums.largest) * factor) * reciprocal : 0.0f;
  }
}

// ---- the gradient of a row ----------------------------------------------------------------------

// The total over all threads of a row. All threads of the block take part.
template <int kWarps>
__device__ inline float total(float sum) {
#pragma unroll
  for (uint32_t distance = ATTENTION_WARP / 2; distance > 0; distance /= 2)
    sum += exchange(sum, distance);
  if (kWarps == 1) return sum;
  __shared__ float of_warps[ATTENTION_WARPS];
  if (threadIdx.x % ATTENTION_WARP == 0) of_warps[threadIdx.x / ATTENTION_WARP] = sum;
  __syncthreads();
  sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += of_warps[warp];
  return sum;
}

// The sum of the elements of dO O of a row.
template <int kType, int kWarps>
__device__ inline float product_of_row(const AttentionSoftmax& softmax, const void* d_o,
                                       const void* o, uint64_t row) {
  float sum = 0;
  if (row < softmax.rows)
    for (uint32_t i = threadIdx.x; i < softmax.values; i += ATTENTION_WARP * kWarps) {
      const uint64_t index = row * softmax.values + i;
      sum += number_at<kType>(d_o, index) * number_at<kType>(o, index);
    }
  return total<kWarps>(sum);
}

// Replaces `scores` by weights, and `products` of dO and the values by gradients of scores.
template <int kVector>
__device__ inline void to_gradients(Chunk<kVector>& scores, Chunk<kVector>& products,
                                    uint32_t first, const Keys& keys,
                                    const AttentionSoftmax& softmax, float log_sum, float d) {
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    const bool is_seen = first + i >= keys.begin && first + i < keys.end;
    const float weight =
        is_seen ? exp2_approximate(scores.values[i] * softmax.factor - log_sum * kLog2E) : 0.0f;
    products.values[i] = is_seen ? weight * (products.values[i] - d) * softmax.scale : 0.0f;
    scores.values[i] = weight;
  }
}

}  // namespace attention

// Writes the weights of all rows as kType: float, in which they may overwrite the scores, half or
// bfloat16. `sinks` holds one sink for each head, or is null. `log_sums`, unless null, receives the
// logarithm of each row's sum of exponentials. kVector must divide the number of keys. The launch
// has blocks of 32 * kWarps threads for each of 8 / kWarps rows.
template <int kType, int kVector, int kWarps>
__global__ void attention_softmax(const float* scores, const float* sinks, void* weights,
                                  float* log_sums, AttentionSoftmax softmax) {
  using namespace attention;
  const uint64_t row = uint64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  const uint64_t begin = row * softmax.keys;
  const Keys keys = keys_of(softmax, row);
  constexpr uint32_t kStep = ATTENTION_WARP * kWarps;

  Sums sums = sink_of(softmax, sinks, row);
  const uint32_t chunks_end = (keys.end + kVector - 1) / kVector;
#pragma unroll 4
  for (uint32_t at = keys.begin / kVector + threadIdx.x; at < chunks_end; at += kStep) {
    Chunk<kVector> chunk;
    load(scores + begin + uint64_t(at) * kVector, chunk);
    sums.add(sums_of(chunk, at * kVector, keys, softmax.factor), softmax.factor);
  }
  sums = combine<kWarps>(sums, softmax.factor);

  if (row >= softmax.rows) return;
  if (log_sums && threadIdx.x == 0) log_sums[row] = softmax.scale * sums.largest + logf(sums.sum);
#pragma unroll 4
  for (uint32_t at = threadIdx.x; at < softmax.keys / kVector; at += kStep) {
    Chunk<kVector> chunk = {};
    if (at >= keys.begin / kVector && at < chunks_end) {
      load(scores + begin + uint64_t(at) * kVector, chunk);
      to_weights(chunk, at * kVector, keys, sums, softmax.factor);
    }
    store<kType>(chunk, weights, begin + uint64_t(at) * kVector);
  }
}

// Writes the weights of all rows and the gradients of their scores as kType: float, in which they
// may overwrite the scores and the `products` of dO and the values, half or bfloat16. `o` and
// `log_sums` are those of the forward pass. Unless `sinks` is null, `sink_terms` receives each
// row's contribution to the gradient of its head's sink. The launch is that of attention_softmax.
template <int kType, int kVector, int kWarps>
__global__ void attention_softmax_gradient(const float* scores, const float* products,
                                           const void* d_o, const void* o, const float* log_sums,
                                           const float* sinks, void* weights, void* gradients,
                                           float* sink_terms, AttentionSoftmax softmax) {
  using namespace attention;
  const uint64_t row = uint64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  const uint64_t begin = row * softmax.keys;
  const Keys keys = keys_of(softmax, row);
  const float d = product_of_row<kType, kWarps>(softmax, d_o, o, row);
  if (row >= softmax.rows) return;

  const float log_sum = log_sums[row];
  if (sinks && threadIdx.x == 0) {
    const float sink = sinks[row / softmax.queries % softmax.heads];
    sink_terms[row] = -exp2_approximate((sink - log_sum) * kLog2E) * d;
  }
  const uint32_t chunks_end = (keys.end + kVector - 1) / kVector;
#pragma unroll 2
  for (uint32_t at = threadIdx.x; at < softmax.keys / kVector; at += ATTENTION_WARP * kWarps) {
    const uint64_t first = begin + uint64_t(at) * kVector;
    Chunk<kVector> of_scores = {}, of_products = {};
    if (at >= keys.begin / kVector && at < chunks_end) {
      load(scores + first, of_scores);
      load(products + first, of_products);
      to_gradients(of_scores, of_products, at * kVector, keys, softmax, log_sum, d);
    }
    store<kType>(of_scores, weights, first);
    store<kType>(of_products, gradients, first);
  }
}

// Adds up the terms of each head's sink over its queries in all sequences. A block of 32 * kWarps
// threads takes a head.
template <int kWarps>
__global__ void attention_sink_gradient(const float* sink_terms, float* d_sinks,
                                        AttentionSoftmax softmax) {
  using namespace attention;
  const uint64_t of_sequence = uint64_t(softmax.heads) * softmax.queries;
  float sum = 0;
  for (uint64_t first = uint64_t(blockIdx.x) * softmax.queries; first < softmax.rows;
       first += of_sequence)
    for (uint32_t query = threadIdx.x; query < softmax.queries; query += ATTENTION_WARP * kWarps)
      sum += sink_terms[first + query];
  sum = total<kWarps>(sum);
  if (threadIdx.x == 0) d_sinks[blockIdx.x] = sum;
}
