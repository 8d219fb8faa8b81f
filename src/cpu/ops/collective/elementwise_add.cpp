// Addition loops, compiled for every vector unit. Half precision uses the processor's conversion
// instructions.
#include "ops/collective/elementwise_add.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>

#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/plugin.hpp"
#include "isa.hpp"
#include "rounded_bfloat16.hpp"

namespace deepbench::cpu {
namespace {

DEEPBENCH_VECTOR_CLONES void add_f32(const float* a, const float* b, float* out, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

DEEPBENCH_VECTOR_CLONES void add_bfloat16(const uint16_t* a, const uint16_t* b, uint16_t* out,
                                          uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    out[i] = rounded_bfloat16(deepbench_from_bfloat16(a[i]) + deepbench_from_bfloat16(b[i]));
}

uint16_t rounded_half(float value) {
  // The smallest value that rounds beyond the largest half, 65504.
  constexpr float kOverflow = 65520;
  if (value != value) return 0x7e00;
  if (std::fabs(value) >= kOverflow) return value > 0 ? 0x7c00 : 0xfc00;
  return deepbench_to_half(value);
}

void add_half_scalar(const uint16_t* a, const uint16_t* b, uint16_t* out, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    out[i] = rounded_half(deepbench_from_half(a[i]) + deepbench_from_half(b[i]));
}

#if defined(__x86_64__)
// Every processor with AVX2 also has F16C, which converts halves.
__attribute__((target("avx2,f16c"))) void add_half_avx2(const uint16_t* a, const uint16_t* b,
                                                        uint16_t* out, uint64_t count) {
  uint64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + i));
    const __m128i right = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + i));
    const __m256 sum = _mm256_add_ps(_mm256_cvtph_ps(left), _mm256_cvtph_ps(right));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(sum, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  add_half_scalar(a + i, b + i, out + i, count - i);
}
#endif

void add_half(const uint16_t* a, const uint16_t* b, uint16_t* out, uint64_t count) {
#if defined(__x86_64__)
  if (isa().avx2) return add_half_avx2(a, b, out, count);
#endif
  add_half_scalar(a, b, out, count);
}

template <class T, class Add>
void add_as(Add add, const void* a, const void* b, void* out, uint64_t count) {
  add(static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(out), count);
}

}  // namespace

void add(deepbench_type type, const void* a, const void* b, void* out, uint64_t count) {
  switch (type) {
    case DEEPBENCH_F32:
      return add_as<float>(add_f32, a, b, out, count);
    case DEEPBENCH_F16:
      return add_as<uint16_t>(add_half, a, b, out, count);
    case DEEPBENCH_BF16:
      return add_as<uint16_t>(add_bfloat16, a, b, out, count);
    default:
      plugin::unsupported("sums over ranks have the precisions float, half and bfloat16");
  }
}

}  // namespace deepbench::cpu
