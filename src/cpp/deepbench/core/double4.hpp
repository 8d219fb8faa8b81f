// Four doubles at once, for loops of core/simd_level.hpp: compilers find no vectors of their own
// in sums over lanes.
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
