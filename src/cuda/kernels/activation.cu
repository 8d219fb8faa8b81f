// Activations and their gradients: 16 bytes per access, several accesses of each thread in flight.
#include "activation.h"
#include "exponential.h"
#include "numbers.h"

namespace {

constexpr int kLoadsInFlight = 4;  // per thread

__device__ float sigmoid(float x) { return 1 / (1 + exponential(-x)); }

// The distribution function of the normal distribution.
__device__ float normal_distribution(float x) {
  return 0.5f * (1 + erff(x * 0.70710678118654752f));
}

template <int kKind>
__device__ float value_at(float x) {
  switch (kKind) {
    case ACTIVATION_GELU:
      return x * normal_distribution(x);
    case ACTIVATION_SILU:
      return x * sigmoid(x);
    case ACTIVATION_SIGMOID:
      return sigmoid(x);
    case ACTIVATION_TANH:
      return tanhf(x);
    default:
      return x > 0 ? x : 0;
  }
}

// The derivative at x, or at the output for sigmoid and tanh.
template <int kKind>
__device__ float derivative_at(float x) {
  switch (kKind) {
    case ACTIVATION_GELU:
      return normal_distribution(x) + x * 0.39894228040143268f * exponential(-0.5f * x * x);
    case ACTIVATION_SILU: {
      const float s = sigmoid(x);
      return s * (1 + x * (1 - s));
    }
    case ACTIVATION_SIGMOID:
      return x * (1 - x);
    case ACTIVATION_TANH:
      return 1 - x * x;
    default:
      return x > 0 ? 1 : 0;
  }
}

template <int kKind, bool kForward>
__device__ float result_of(float x, float dy) {
  return kForward ? value_at<kKind>(x) : dy * derivative_at<kKind>(x);
}

}  // namespace

// The last block also computes the numbers after the last whole vector.
template <class T, int kKind, bool kForward>
__global__ void __launch_bounds__(ACTIVATION_THREADS) activate(ActivationArrays arrays) {
  using V = Vector<T>;
  constexpr int kVectors = kForward ? kLoadsInFlight : kLoadsInFlight / 2;
  const auto* const x = static_cast<const uint4*>(arrays.x);
  const auto* const dy = static_cast<const uint4*>(arrays.dy);
  auto* const result = static_cast<uint4*>(arrays.result);
  const uint64_t vectors = arrays.elements / V::kNumbers;
  const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
  uint64_t first = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x;
  for (; first < vectors; first += kVectors * threads) {
    uint4 of_x[kVectors], of_dy[kVectors] = {};
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (const uint64_t at = first + k * threads; at < vectors) {
        of_x[k] = __ldcg(x + at);
        if (!kForward) of_dy[k] = __ldcg(dy + at);
      }
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (const uint64_t at = first + k * threads; at < vectors) {
        float values[V::kNumbers], gradients[V::kNumbers];
        V::widen(of_x[k], values);
        V::widen(of_dy[k], gradients);
#pragma unroll
        for (int i = 0; i < V::kNumbers; ++i)
          values[i] = result_of<kKind, kForward>(values[i], gradients[i]);
        result[at] = V::rounded(values);
      }
  }
  const uint64_t last = vectors * V::kNumbers + threadIdx.x;
  if (blockIdx.x + 1 == gridDim.x && last < arrays.elements) {
    const float gradient = kForward ? 0 : number_at<T>(arrays.dy, last);
    store_number<T>(arrays.result, last,
                    result_of<kKind, kForward>(number_at<T>(arrays.x, last), gradient));
  }
}
