// A vector of four doubles for the loops of core/simd_level.hpp. It is explicit because compilers
// do not vectorize sums over lanes.
#pragma once

#include <cstring>

#include "deepbench/core/simd_level.hpp"

namespace deepbench {

using Double4 = double __attribute__((vector_size(32)));

DEEPBENCH_ALWAYS_INLINE inline void load(const float* from, Double4& to) {
  float __attribute__((vector_size(16))) floats;
  std::memcpy(&floats, from, sizeof floats);
  to = __builtin_convertvector(floats, Double4);
}

DEEPBENCH_ALWAYS_INLINE inline void load(const double* from, Double4& to) {
  std::memcpy(&to, from, sizeof to);
}

}  // namespace deepbench
