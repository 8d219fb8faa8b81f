/* The input generator: the same C functions run on the host, on the device and in references, so
 * that each of them can compute any element of any operand without reading it.
 *
 * Element `index` of operand `stream` is a function of (seed, stream, index) alone: SplitMix64
 * (Steele, Lea, Flood, OOPSLA 2014), evaluated at a position instead of iterated. The header
 * compiles as C11, C++17 and CUDA (host, device, NVRTC without headers).
 */
#ifndef DEEPBENCH_FILL_H_
#define DEEPBENCH_FILL_H_

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long long uint64_t;
#else
#include <stdint.h>
#endif

#ifdef __CUDACC__
#define DEEPBENCH_FILL_FN __host__ __device__ static inline
#else
#define DEEPBENCH_FILL_FN static inline
#endif

/* The storage type of an element. TF32 operands are stored as F32; the library rounds them. */
typedef enum deepbench_type {
  DEEPBENCH_F64 = 0,
  DEEPBENCH_F32 = 1,
  DEEPBENCH_F16 = 2,
  DEEPBENCH_BF16 = 3,
  DEEPBENCH_E4M3 = 4,
  DEEPBENCH_E5M2 = 5,
  DEEPBENCH_S32 = 6,
  DEEPBENCH_S8 = 7, /* [-128, 127] */
  DEEPBENCH_U8 = 8, /* [0, 255] */
  DEEPBENCH_S7 = 9  /* stored as s8, [-64, 63]: safe where sums of products saturate at 16 bits */
} deepbench_type;

/* 64 random bits for one element. `stream` selects the operand: gemm A = 0, B = 1, C = 2 (the C
 * that A B is added to). `index` is the position in the stored, unpadded operand: gemm is
 * column-major, so element (row, column) of A has the index row + column * m, and of a transposed A
 * row + column * k. */
DEEPBENCH_FILL_FN uint64_t deepbench_bits(uint64_t seed, uint32_t stream, uint64_t index) {
  uint64_t z =
      (seed ^ ((uint64_t)stream * 0xD1B54A32D192ED03ull)) + (index + 1u) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/* A uniform number in [-1, 1). It is a multiple of 2^-24 and therefore exact in float. */
DEEPBENCH_FILL_FN float deepbench_uniform(uint64_t seed, uint32_t stream, uint64_t index) {
  int32_t step = (int32_t)(deepbench_bits(seed, stream, index) >> 39) - (1 << 24);
  return (float)step * (1.0f / 16777216.0f);
}

/* Weight j of the projections that verify a whole output. */
DEEPBENCH_FILL_FN double deepbench_weight(uint64_t seed, uint64_t j) {
  return (double)deepbench_uniform(seed, 0x77656967u, j);
}

DEEPBENCH_FILL_FN uint32_t deepbench_float_bits(float value) {
  union {
    float f;
    uint32_t u;
  } view;
  view.f = value;
  return view.u;
}

DEEPBENCH_FILL_FN float deepbench_bits_float(uint32_t bits) {
  union {
    uint32_t u;
    float f;
  } view;
  view.u = bits;
  return view.f;
}

/* Rounds |value| <= 256 to a binary format of `exponent` and `mantissa` bits with gradual
 * underflow, to nearest, ties to even. Supports half (5, 10), bfloat16 (8, 7), e4m3 (4, 3) and e5m2
 * (5, 2): no such value overflows in them, so the function ignores infinities and NaNs. */
DEEPBENCH_FILL_FN uint32_t deepbench_round(float value, uint32_t exponent, uint32_t mantissa) {
  uint32_t bits = deepbench_float_bits(value);
  uint32_t sign = (bits >> 31) << (exponent + mantissa);
  uint32_t magnitude = bits & 0x7fffffffu;
  int32_t bias = (1 << (exponent - 1)) - 1;
  int32_t binary = magnitude >> 23 ? (int32_t)(magnitude >> 23) : 1; /* 1: a subnormal float */
  int32_t scale = binary - 127 + bias; /* the target's biased exponent */
  uint32_t fraction = (magnitude & 0x7fffffu) | (magnitude >> 23 ? 0x800000u : 0u);
  uint32_t drop = 23u - mantissa;
  uint32_t significand, rest, half;
  if (scale < 1) { /* subnormal in the target */
    uint32_t extra = (uint32_t)(1 - scale);
    drop = drop + extra > 31u ? 31u : drop + extra;
    scale = 1;
  }
  significand = fraction >> drop;
  rest = fraction & ((1u << drop) - 1u);
  half = 1u << (drop - 1u);
  if (rest > half || (rest == half && (significand & 1u))) significand += 1u;
  /* `significand` includes the implicit bit, so adding scale - 1 to the exponent gives the final
   * code, and a carry out of the fraction increments the exponent. */
  return sign | (((uint32_t)(scale - 1) << mantissa) + significand);
}

/* The value of a code in one of deepbench_round's formats. Infinities and NaNs of half, bfloat16
 * and e5m2 and the NaN of e4m3 (which has no infinity) are preserved. */
DEEPBENCH_FILL_FN float deepbench_widen(uint32_t code, uint32_t exponent, uint32_t mantissa) {
  uint32_t sign = (code >> (exponent + mantissa)) & 1u;
  uint32_t scale = (code >> mantissa) & ((1u << exponent) - 1u);
  uint32_t fraction = code & ((1u << mantissa) - 1u);
  uint32_t top = (1u << exponent) - 1u;
  int32_t bias = (1 << (exponent - 1)) - 1;
  uint32_t bits;
  int is_e4m3 = exponent == 4u && mantissa == 3u;
  if (is_e4m3 ? (scale == top && fraction == 7u) : scale == top) {
    bits = 0x7f800000u | (fraction << (23u - mantissa));
  } else if (scale == 0u) {
    if (fraction == 0u) {
      bits = 0u;
    } else { /* normalize */
      int32_t shift = 0;
      while (!((fraction << shift) & (1u << mantissa))) shift += 1;
      int32_t binary = 1 - bias - shift + 127;
      if (binary > 0) {
        bits = ((uint32_t)binary << 23) |
               (((fraction << shift) & ((1u << mantissa) - 1u)) << (23u - mantissa));
      } else { /* a bfloat16 subnormal is a float subnormal */
        bits = fraction << (23u - mantissa);
      }
    }
  } else {
    bits = ((uint32_t)((int32_t)scale - bias + 127) << 23) | (fraction << (23u - mantissa));
  }
  return deepbench_bits_float(bits | (sign << 31));
}

DEEPBENCH_FILL_FN uint16_t deepbench_to_half(float v) {
  return (uint16_t)deepbench_round(v, 5, 10);
}
DEEPBENCH_FILL_FN uint16_t deepbench_to_bfloat16(float v) {
  return (uint16_t)deepbench_round(v, 8, 7);
}
DEEPBENCH_FILL_FN uint8_t deepbench_to_e4m3(float v) { return (uint8_t)deepbench_round(v, 4, 3); }
DEEPBENCH_FILL_FN uint8_t deepbench_to_e5m2(float v) { return (uint8_t)deepbench_round(v, 5, 2); }
DEEPBENCH_FILL_FN float deepbench_from_half(uint16_t c) { return deepbench_widen(c, 5, 10); }
DEEPBENCH_FILL_FN float deepbench_from_bfloat16(uint16_t c) {
  return deepbench_bits_float((uint32_t)c << 16);
}
DEEPBENCH_FILL_FN float deepbench_from_e4m3(uint8_t c) { return deepbench_widen(c, 4, 3); }
DEEPBENCH_FILL_FN float deepbench_from_e5m2(uint8_t c) { return deepbench_widen(c, 5, 2); }

/* Element `index` of operand `stream` in an integer type. */
DEEPBENCH_FILL_FN int32_t deepbench_integer(deepbench_type type, uint64_t seed, uint32_t stream,
                                            uint64_t index) {
  uint32_t top = (uint32_t)(deepbench_bits(seed, stream, index) >> 32);
  switch (type) {
    case DEEPBENCH_U8:
      return (int32_t)(top >> 24);
    case DEEPBENCH_S7:
      return (int32_t)(top >> 25) - 64;
    case DEEPBENCH_S32: /* so small that no sum of products overflows when it is added */
      return (int32_t)(top >> 16) - 32768;
    default:
      return (int32_t)(top >> 24) - 128;
  }
}

/* Element `index` of operand `stream`: the exact value that an operand of this type stores. */
DEEPBENCH_FILL_FN double deepbench_element(deepbench_type type, uint64_t seed, uint32_t stream,
                                           uint64_t index) {
  switch (type) {
    case DEEPBENCH_F16:
      return (double)deepbench_from_half(deepbench_to_half(deepbench_uniform(seed, stream, index)));
    case DEEPBENCH_BF16:
      return (double)deepbench_from_bfloat16(
          deepbench_to_bfloat16(deepbench_uniform(seed, stream, index)));
    case DEEPBENCH_E4M3:
      return (double)deepbench_from_e4m3(deepbench_to_e4m3(deepbench_uniform(seed, stream, index)));
    case DEEPBENCH_E5M2:
      return (double)deepbench_from_e5m2(deepbench_to_e5m2(deepbench_uniform(seed, stream, index)));
    case DEEPBENCH_S32:
    case DEEPBENCH_S8:
    case DEEPBENCH_U8:
    case DEEPBENCH_S7:
      return (double)deepbench_integer(type, seed, stream, index);
    default:
      return (double)deepbench_uniform(seed, stream, index);
  }
}

/* Small integers, for the inputs "integers" of plugin.h's refill(). An element is 0 or odd. */
typedef struct deepbench_small_integers {
  uint32_t density; /* an element differs from 0 with a probability of density / 2^28 */
  uint32_t largest; /* 1, 3 or 7: elements lie in [-largest, largest] */
} deepbench_small_integers;

/* Element `index` of operand `stream`. */
DEEPBENCH_FILL_FN int32_t deepbench_small_integer(deepbench_small_integers integers, uint64_t seed,
                                                  uint32_t stream, uint64_t index) {
  uint32_t top = (uint32_t)(deepbench_bits(seed, stream, index) >> 32);
  if (((top >> 1) & 0x0fffffffu) >= integers.density) return 0;
  return 2 * (int32_t)(((top >> 29) * (integers.largest + 1u)) >> 3) - (int32_t)integers.largest;
}

/* The values of operand `stream` of a gemm with a result of type `c`: A and B hold -1 and 1, C
 * holds odd integers up to 7. Beyond a length that depends on `c`, A is sparse, so that the number
 * of non-zero elements of a row stays about the same. The result and every partial sum, in any
 * order, are then exact in `c`, up to a probability of 1e-12 for each element. They stay exact in
 * an accumulator of 14 bits if `c` is bfloat16, and of 24 bits if it is half or float, even if all
 * products have the same sign. Operands of integer types keep their usual values. */
DEEPBENCH_FILL_FN deepbench_small_integers deepbench_gemm_integers(deepbench_type c, uint64_t k,
                                                                   uint32_t stream) {
  uint64_t length = c == DEEPBENCH_BF16 ? 1u << 10 : c == DEEPBENCH_F16 ? 1u << 15 : 1u << 21;
  deepbench_small_integers integers;
  integers.density = 1u << 28;
  integers.largest = stream == 2u ? 7u : 1u;
  if (stream == 0u && k > length) integers.density = (uint32_t)((length << 28) / k);
  return integers;
}

/* The summand of rank `rank` of `ranks` for element `index` of a sum over ranks: an integer so
 * small that every partial sum, in any order, is exact in the type. Where there are more ranks than
 * integers that the type represents exactly, only every second, third, ... rank adds a value other
 * than 0. */
DEEPBENCH_FILL_FN float deepbench_summand(deepbench_type type, uint64_t seed, uint32_t rank,
                                          uint32_t ranks, uint64_t index) {
  uint32_t exact = type == DEEPBENCH_F16 ? 1u << 11 : type == DEEPBENCH_BF16 ? 1u << 8 : 1u << 24;
  uint32_t rank_step = (ranks + exact - 1u) / exact;
  uint32_t max_summand = exact / ((ranks + rank_step - 1u) / rank_step);
  uint64_t top = deepbench_bits(seed, rank, index) >> 32;
  if (rank_step > 1u && rank % rank_step != index % rank_step) return 0.0f;
  return (float)((int32_t)((top * (2u * max_summand + 1u)) >> 32) - (int32_t)max_summand);
}

#endif /* DEEPBENCH_FILL_H_ */
