/* The 16-bit floating-point types and their tensor core products with float accumulation. For CUDA
 * devices only. */
#ifndef DEEPBENCH_CUDA_KERNELS_TENSOR_CORE_H_
#define DEEPBENCH_CUDA_KERNELS_TENSOR_CORE_H_

#include "fill.h"

template <int kType>
struct SixteenBitFloat;

/* Adds to `sums` the product of a 16 x 16 tile and a 16 x 8 tile. Elements are distributed over
 * threads as mma.m16n8k16 defines it. */
#define DEEPBENCH_MULTIPLY(name)                                             \
  asm("mma.sync.aligned.m16n8k16.row.col.f32." name "." name                 \
      ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])           \
      : "r"(tile.x), "r"(tile.y), "r"(tile.z), "r"(tile.w), "r"(columns.x), "r"(columns.y))

template <>
struct SixteenBitFloat<DEEPBENCH_F16> {
  static __device__ float to_float(uint16_t word) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(word));
    return value;
  }
  static __device__ uint16_t from_float(float value) {
    uint16_t word;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(word) : "f"(value));
    return word;
  }
  static __device__ void multiply(float (&sums)[4], uint4 tile, uint2 columns) {
    DEEPBENCH_MULTIPLY("f16");
  }
};

template <>
struct SixteenBitFloat<DEEPBENCH_BF16> {
  static __device__ float to_float(uint16_t word) { return __uint_as_float(uint32_t(word) << 16); }
  static __device__ uint16_t from_float(float value) {
    uint16_t word;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(word) : "f"(value));
    return word;
  }
  static __device__ void multiply(float (&sums)[4], uint4 tile, uint2 columns) {
    DEEPBENCH_MULTIPLY("bf16");
  }
};

#undef DEEPBENCH_MULTIPLY

#endif /* DEEPBENCH_CUDA_KERNELS_TENSOR_CORE_H_ */
