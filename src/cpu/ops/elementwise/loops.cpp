// Compilers reject templates that are to be compiled for several vector units, so that each type
// has its own functions around the templates.
#include "ops/elementwise/loops.hpp"

#include <cmath>

#include "deepbench/backend/vector_clones.hpp"
#include "exp2.hpp"
#include "rounded_bfloat16.hpp"

namespace deepbench::cpu {
namespace {

DEEPBENCH_VECTOR_INLINED inline float widen(float value) { return value; }
DEEPBENCH_VECTOR_INLINED inline float widen(uint16_t value) {
  return deepbench_from_bfloat16(value);
}
DEEPBENCH_VECTOR_INLINED inline void store(float value, float& to) { to = value; }
DEEPBENCH_VECTOR_INLINED inline void store(float value, uint16_t& to) {
  to = rounded_bfloat16(value);
}

// Computes 1 / (1 + exp(-x)) from an exponential that is at most 1.
DEEPBENCH_VECTOR_INLINED inline float sigmoid(float x) {
  constexpr float kLog2E = 1.442695041f;
  const float power = exp2_of_nonpositive(-kLog2E * std::fabs(x));
  return (x < 0 ? power : 1.0f) / (1 + power);
}

template <class T>
DEEPBENCH_VECTOR_INLINED inline void swiglu_of(const T* gate, const T* up, int64_t begin,
                                               int64_t end, T* __restrict out) {
  for (int64_t i = begin; i < end; ++i) {
    const float a = widen(gate[i]);
    store(a * sigmoid(a) * widen(up[i]), out[i]);
  }
}

template <class T>
DEEPBENCH_VECTOR_INLINED inline void rotate(const T* x, const T* cosines, const T* sines,
                                            int64_t half, T* __restrict out) {
  for (int64_t i = 0; i < half; ++i) {
    const float first = widen(x[i]), second = widen(x[i + half]);
    const float c = widen(cosines[i]), s = widen(sines[i]);
    store(first * c - second * s, out[i]);
    store(second * c + first * s, out[i + half]);
  }
}

DEEPBENCH_VECTOR_CLONES void swiglu_float(const float* gate, const float* up, int64_t begin,
                                          int64_t end, float* out) {
  swiglu_of(gate, up, begin, end, out);
}
DEEPBENCH_VECTOR_CLONES void swiglu_bfloat16(const uint16_t* gate, const uint16_t* up,
                                             int64_t begin, int64_t end, uint16_t* out) {
  swiglu_of(gate, up, begin, end, out);
}
DEEPBENCH_VECTOR_CLONES void rotate_float(const float* x, const float* cosines, const float* sines,
                                          int64_t half, float* out) {
  rotate(x, cosines, sines, half, out);
}
DEEPBENCH_VECTOR_CLONES void rotate_bfloat16(const uint16_t* x, const uint16_t* cosines,
                                             const uint16_t* sines, int64_t half, uint16_t* out) {
  rotate(x, cosines, sines, half, out);
}

template <class T, class Rotate>
void rotate_all(const Rotate& rotate_head, const RotaryArrays& arrays, int64_t begin, int64_t end) {
  const auto* const x = static_cast<const T*>(arrays.x);
  const auto* const cosines = static_cast<const T*>(arrays.cosines);
  const auto* const sines = static_cast<const T*>(arrays.sines);
  auto* const out = static_cast<T*>(arrays.out);
  for (int64_t head = begin; head < end; ++head) {
    const int64_t at = head * 2 * arrays.half, row = head / arrays.heads * arrays.half;
    rotate_head(x + at, cosines + row, sines + row, arrays.half, out + at);
  }
}

}  // namespace

void swiglu(deepbench_type type, const void* gate, const void* up, int64_t begin, int64_t end,
            void* out) {
  if (type == DEEPBENCH_F32)
    return swiglu_float(static_cast<const float*>(gate), static_cast<const float*>(up), begin, end,
                        static_cast<float*>(out));
  swiglu_bfloat16(static_cast<const uint16_t*>(gate), static_cast<const uint16_t*>(up), begin, end,
                  static_cast<uint16_t*>(out));
}

void rotate_heads(deepbench_type type, const RotaryArrays& arrays, int64_t begin, int64_t end) {
  if (type == DEEPBENCH_F32) return rotate_all<float>(rotate_float, arrays, begin, end);
  rotate_all<uint16_t>(rotate_bfloat16, arrays, begin, end);
}

}  // namespace deepbench::cpu
