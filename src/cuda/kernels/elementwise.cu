// Sums, products and gated activations of two arrays, and rotary embeddings: 16 bytes per access,
// four accesses of each thread in flight.
#include "elementwise.h"
#include "exponential.h"
#include "numbers.h"

namespace {

constexpr int kPairsInFlight = 2;  // pairs of loads per thread

template <int kKind>
__device__ float combined(float a, float b) {
  switch (kKind) {
    case ELEMENTWISE_ADD:
      return a + b;
    case ELEMENTWISE_MULTIPLY:
      return a * b;
    default:
      return a / (1 + exponential(-a)) * b;
  }
}

// Reads and writes vectors of 16 bytes, or single numbers, as floats.
template <class T, bool kVectors>
struct Access {
  static constexpr int kNumbers = Vector<T>::kNumbers;
  static __device__ void load(const void* array, uint64_t at, float* values) {
    Vector<T>::widen(__ldcg(static_cast<const uint4*>(array) + at), values);
  }
  static __device__ void store(void* array, uint64_t at, const float* values) {
    static_cast<uint4*>(array)[at] = Vector<T>::rounded(values);
  }
};

template <class T>
struct Access<T, false> {
  static constexpr int kNumbers = 1;
  static __device__ void load(const void* array, uint64_t at, float* values) {
    values[0] = number_at<T>(array, at);
  }
  static __device__ void store(void* array, uint64_t at, const float* values) {
    store_number<T>(array, at, values[0]);
  }
};

}  // namespace

// The last block also computes the numbers after the last whole vector.
template <class T, int kKind>
__global__ void __launch_bounds__(ELEMENTWISE_THREADS) combine(CombinedArrays arrays) {
  using V = Vector<T>;
  const auto* const a = static_cast<const uint4*>(arrays.a);
  const auto* const b = static_cast<const uint4*>(arrays.b);
  auto* const result = static_cast<uint4*>(arrays.result);
  const uint64_t vectors = arrays.elements / V::kNumbers;
  const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
  uint64_t first = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
  for (; first < vectors; first += kPairsInFlight * threads) {
    uint4 of_a[kPairsInFlight], of_b[kPairsInFlight];
#pragma unroll
    for (int k = 0; k < kPairsInFlight; ++k)
      if (const uint64_t at = first + k * threads; at < vectors) {
        of_a[k] = __ldcg(a + at);
        of_b[k] = __ldcg(b + at);
      }
#pragma unroll
    for (int k = 0; k < kPairsInFlight; ++k)
      if (const uint64_t at = first + k * threads; at < vectors) {
        float values[V::kNumbers], others[V::kNumbers];
        V::widen(of_a[k], values);
        V::widen(of_b[k], others);
#pragma unroll
        for (int i = 0; i < V::kNumbers; ++i) values[i] = combined<kKind>(values[i], others[i]);
        result[at] = V::rounded(values);
      }
  }
  const uint64_t last = vectors * V::kNumbers + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && last < arrays.elements)
    store_number<T>(arrays.result, last,
                    combined<kKind>(number_at<T>(arrays.a, last), number_at<T>(arrays.b, last)));
}

// Each thread rotates pairs of an element in the first half of a head and the element at the same
// place in the second half. With vectors, half must be a multiple of the numbers in one vector.
template <class T, bool kVectors>
__global__ void __launch_bounds__(ELEMENTWISE_THREADS) rotate(RotatedHeads arrays) {
  using Unit = Access<T, kVectors>;
  const uint64_t half = arrays.half / Unit::kNumbers;
  const uint64_t places = arrays.rows * arrays.heads * half;
  const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
  uint64_t place = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
  for (; place < places; place += threads) {
    const uint64_t head = place / half, angle = head / arrays.heads * half + place % half;
    const uint64_t at = place + head * half;
    float first[Unit::kNumbers], second[Unit::kNumbers], c[Unit::kNumbers], s[Unit::kNumbers];
    Unit::load(arrays.x, at, first);
    Unit::load(arrays.x, at + half, second);
    Unit::load(arrays.cosines, angle, c);
    Unit::load(arrays.sines, angle, s);
#pragma unroll
    for (int i = 0; i < Unit::kNumbers; ++i) {
      const float turned = first[i] * c[i] - second[i] * s[i];
      second[i] = second[i] * c[i] + first[i] * s[i];
      first[i] = turned;
    }
    Unit::store(arrays.result, at, first);
    Unit::store(arrays.result, at + half, second);
  }
}
