/* Numbers of float, half and bfloat16 in words and in vectors of 16 bytes. Kernels compute with
 * them in float. */
#ifndef DEEPBENCH_CUDA_KERNELS_NUMBERS_H_
#define DEEPBENCH_CUDA_KERNELS_NUMBERS_H_

#include "fill.h"

/* Devices from compute capability 8.0 on round two numbers in one instruction. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define DEEPBENCH_ROUNDS_PAIRS 1
#else
#define DEEPBENCH_ROUNDS_PAIRS 0
#endif

namespace {

// Stored is the code of one number. A 32-bit word holds kPerWord numbers, the first in its low
// bits.
struct Float {
  using Stored = uint32_t;
  static constexpr int kPerWord = 1;
  static __device__ float value_of(Stored code) { return deepbench_bits_float(code); }
  static __device__ Stored code_of(float value) { return deepbench_float_bits(value); }
  static __device__ void widen(uint32_t word, float* values) { values[0] = value_of(word); }
  static __device__ uint32_t rounded(const float* values) { return code_of(values[0]); }
};

struct Half {
  using Stored = uint16_t;
  static constexpr int kPerWord = 2;
  static __device__ float value_of(Stored code) {
#ifdef __CUDACC__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
    return value;
#else
    return deepbench_from_half(code);
#endif
  }
  static __device__ Stored code_of(float value) {
#ifdef __CUDACC__
    Stored code;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
    return code;
#else
    return deepbench_to_half(value);
#endif
  }
  static __device__ void widen(uint32_t word, float* values) {
    values[0] = value_of(Stored(word));
    values[1] = value_of(Stored(word >> 16));
  }
  static __device__ uint32_t rounded(const float* values) {
#if DEEPBENCH_ROUNDS_PAIRS
    uint32_t word;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(values[1]), "f"(values[0]));
    return word;
#else
    return code_of(values[0]) | uint32_t(code_of(values[1])) << 16;
#endif
  }
};

struct Bfloat16 {
  using Stored = uint16_t;
  static constexpr int kPerWord = 2;
  static __device__ float value_of(Stored code) {
    return deepbench_bits_float(uint32_t(code) << 16);
  }
  static __device__ Stored code_of(float value) { return Stored(upper_code_of(value) >> 16); }
  static __device__ void widen(uint32_t word, float* values) {
    values[0] = deepbench_bits_float(word << 16);
    values[1] = deepbench_bits_float(word & 0xffff0000u);
  }
  static __device__ uint32_t rounded(const float* values) {
#if DEEPBENCH_ROUNDS_PAIRS
    uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(values[1]), "f"(values[0]));
    return word;
#else
    return upper_code_of(values[0]) >> 16 | (upper_code_of(values[1]) & 0xffff0000u);
#endif
  }

 private:
  // Returns the code in the upper 16 bits, rounded to nearest with ties to even. A NaN remains a
  // NaN.
  static __device__ uint32_t upper_code_of(float value) {
    const uint32_t bits = deepbench_float_bits(value);
    return value != value ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u);
  }
};

// A vector of 16 bytes.
template <class T>
struct Vector {
  static constexpr int kNumbers = 4 * T::kPerWord;

  static __device__ void widen(const uint4& words, float* values) {
    T::widen(words.x, values);
    T::widen(words.y, values + T::kPerWord);
    T::widen(words.z, values + 2 * T::kPerWord);
    T::widen(words.w, values + 3 * T::kPerWord);
  }
  static __device__ uint4 rounded(const float* values) {
    uint4 words;
    words.x = T::rounded(values);
    words.y = T::rounded(values + T::kPerWord);
    words.z = T::rounded(values + 2 * T::kPerWord);
    words.w = T::rounded(values + 3 * T::kPerWord);
    return words;
  }
};

// Loads one element of an array as a float.
template <class T>
__device__ float number_at(const void* array, uint64_t index) {
  return T::value_of(static_cast<const typename T::Stored*>(array)[index]);
}
template <class T>
__device__ void store_number(void* array, uint64_t index, float value) {
  static_cast<typename T::Stored*>(array)[index] = T::code_of(value);
}

}  // namespace

#endif /* DEEPBENCH_CUDA_KERNELS_NUMBERS_H_ */
