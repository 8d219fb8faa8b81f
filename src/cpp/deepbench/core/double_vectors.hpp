// Vectors of four and of eight doubles for the loops of core/simd_level.hpp. They are explicit
// because compilers do not vectorize sums over lanes.
#pragma once

#include <cstring>

#include "deepbench/core/simd_level.hpp"

namespace deepbench {

using Double4 = double __attribute__((vector_size(32)));
using Double8 = double __attribute__((vector_size(64)));

DEEPBENCH_ALWAYS_INLINE inline void load(const float* from, Double4& to) {
  float __attribute__((vector_size(16))) floats;
  std::memcpy(&floats, from, sizeof floats);
  to = __builtin_convertvector(floats, Double4);
}

DEEPBENCH_ALWAYS_INLINE inline void load(const float* from, Double8& to) {
  float __attribute__((vector_size(32))) floats;
  std::memcpy(&floats, from, sizeof floats);
  to = __builtin_convertvector(floats, Double8);
}

template <class Vector>
DEEPBENCH_ALWAYS_INLINE inline void load(const double* from, Vector& to) {
  std::memcpy(&to, from, sizeof to);
}

}  // namespace deepbench
