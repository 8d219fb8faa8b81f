/* The shared part of the kernels on operands: the element types, and sums over a block of
 * OPERAND_THREADS threads. For CUDA devices only. */
#ifndef DEEPBENCH_CUDA_KERNELS_ELEMENT_H_
#define DEEPBENCH_CUDA_KERNELS_ELEMENT_H_

#include "fill.h"
#include "strided_layout.h"

namespace {

// The index of this thread within its block, for blocks of any shape.
__device__ inline uint32_t thread_of_block() { return threadIdx.x + threadIdx.y * blockDim.x; }

// ---- elements of every type ---------------------------------------------------------------------

// generated_word() generates an element and returns it as the type stores it. code() returns a
// small integer as the type stores it, and value() returns the stored value as a double.
template <int kType>
struct Element {  // S8, U8, S7
  using Word = uint8_t;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return Word(deepbench_integer(deepbench_type(kType), seed, operand, index));
  }
  static __device__ Word code(int32_t integer) { return Word(integer); }
  static __device__ double value(Word word) {
    return kType == DEEPBENCH_U8 ? double(word) : double((signed char)word);
  }
};

template <>
struct Element<DEEPBENCH_F64> {
  using Word = double;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return deepbench_uniform(seed, operand, index);
  }
  static __device__ Word code(int32_t integer) { return Word(integer); }
  static __device__ double value(Word word) { return word; }
};

template <>
struct Element<DEEPBENCH_F32> {
  using Word = float;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return deepbench_uniform(seed, operand, index);
  }
  static __device__ Word code(int32_t integer) { return Word(integer); }
  static __device__ double value(Word word) { return word; }
};

template <>
struct Element<DEEPBENCH_F16> {
  using Word = uint16_t;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return deepbench_to_half(deepbench_uniform(seed, operand, index));
  }
  static __device__ Word code(int32_t integer) { return deepbench_to_half(float(integer)); }
  static __device__ double value(Word word) {
#ifdef __CUDA_ARCH__  // exact, and one instruction
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(word));
    return wide;
#else
    return deepbench_from_half(word);
#endif
  }
};

template <>
struct Element<DEEPBENCH_BF16> {
  using Word = uint16_t;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return deepbench_to_bfloat16(deepbench_uniform(seed, operand, index));
  }
  static __device__ Word code(int32_t integer) { return deepbench_to_bfloat16(float(integer)); }
  static __device__ double value(Word word) { return deepbench_from_bfloat16(word); }
};

template <>
struct Element<DEEPBENCH_E4M3> {
  using Word = uint8_t;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return deepbench_to_e4m3(deepbench_uniform(seed, operand, index));
  }
  static __device__ Word code(int32_t integer) { return deepbench_to_e4m3(float(integer)); }
  static __device__ double value(Word word) { return deepbench_from_e4m3(word); }
};

template <>
struct Element<DEEPBENCH_E5M2> {
  using Word = uint8_t;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return deepbench_to_e5m2(deepbench_uniform(seed, operand, index));
  }
  static __device__ Word code(int32_t integer) { return deepbench_to_e5m2(float(integer)); }
  static __device__ double value(Word word) { return deepbench_from_e5m2(word); }
};

template <>
struct Element<DEEPBENCH_S32> {
  using Word = int32_t;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return deepbench_integer(DEEPBENCH_S32, seed, operand, index);
  }
  static __device__ Word code(int32_t integer) { return integer; }
  static __device__ double value(Word word) { return word; }
};

template <>
struct Element<DEEPBENCH_UNSIGNED_WORD> {
  using Word = uint32_t;
  static __device__ Word generated_word(uint64_t seed, uint32_t operand, uint64_t index) {
    return uint32_t(deepbench_integer(DEEPBENCH_S32, seed, operand, index));
  }
  static __device__ Word code(int32_t integer) { return uint32_t(integer); }
  static __device__ double value(Word word) { return word; }
};

// Calls body with an Element<type>.
template <class Body>
__device__ void with_element(int32_t type, Body body) {
  switch (type) {
    case DEEPBENCH_F64:
      return body(Element<DEEPBENCH_F64>());
    case DEEPBENCH_F32:
      return body(Element<DEEPBENCH_F32>());
    case DEEPBENCH_F16:
      return body(Element<DEEPBENCH_F16>());
    case DEEPBENCH_BF16:
      return body(Element<DEEPBENCH_BF16>());
    case DEEPBENCH_E4M3:
      return body(Element<DEEPBENCH_E4M3>());
    case DEEPBENCH_E5M2:
      return body(Element<DEEPBENCH_E5M2>());
    case DEEPBENCH_S32:
      return body(Element<DEEPBENCH_S32>());
    case DEEPBENCH_S8:
      return body(Element<DEEPBENCH_S8>());
    case DEEPBENCH_U8:
      return body(Element<DEEPBENCH_U8>());
    case DEEPBENCH_S7:
      return body(Element<DEEPBENCH_S7>());
    case DEEPBENCH_UNSIGNED_WORD:
      return body(Element<DEEPBENCH_UNSIGNED_WORD>());
  }
}

// Calls body with an unsigned word of `bytes` bytes.
template <class Body>
__device__ void with_word_type(uint32_t bytes, Body body) {
  switch (bytes) {
    case 1:
      return body(uint8_t());
    case 2:
      return body(uint16_t());
    case 4:
      return body(uint32_t());
    case 8:
      return body(uint64_t());
  }
}

// Sums the values of the block's threads in groups. A group is the `members` threads (a power of
// two) that are `stride` threads apart; its first thread (member 0) gets the sum. The order of
// additions is always the same.
template <int kValues, class Value>
__device__ void sum_over_block(Value (&values)[kValues], uint32_t member, uint32_t members,
                               uint32_t stride) {
  __shared__ Value shared[kValues][OPERAND_THREADS];
  const uint32_t thread = thread_of_block();
  for (int i = 0; i < kValues; ++i) shared[i][thread] = values[i];
  __syncthreads();
  for (uint32_t half = members / 2; half > 0; half /= 2) {
    if (member < half)
      for (int i = 0; i < kValues; ++i) shared[i][thread] += shared[i][thread + half * stride];
    __syncthreads();
  }
  for (int i = 0; i < kValues; ++i) values[i] = shared[i][thread];
}

__device__ __noinline__ double value_at(const void* data, int32_t type, uint64_t offset) {
  double value = 0;
  with_element(type, [&](auto element) {
    using E = decltype(element);
    value = E::value(static_cast<const typename E::Word*>(data)[offset]);
  });
  return value;
}

__device__ inline uint64_t offset_in(const Tensor& tensor, uint64_t index) {
  const uint64_t line = index / tensor.rows, plane = line / tensor.columns;
  return index % tensor.rows * tensor.row_stride + line % tensor.columns * tensor.column_stride +
         plane * tensor.plane_stride;
}

}  // namespace

#endif  // DEEPBENCH_CUDA_KERNELS_ELEMENT_H_
