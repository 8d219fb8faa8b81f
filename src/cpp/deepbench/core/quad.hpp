// Four doubles at once, for loops of core/vector_unit.hpp: compilers find no vectors of their own
// in sums over lanes.
#pragma once

#include <cstring>

#include "deepbench/core/vector_unit.hpp"

namespace deepbench {

using Quad = double __attribute__((vector_size(32)));

DEEPBENCH_INLINED inline void load(const float* from, Quad& to) {
  float __attribute__((vector_size(16))) floats;
  std::memcpy(&floats, from, sizeof floats);
  to = __builtin_convertvector(floats, Quad);
}

DEEPBENCH_INLINED inline void load(const double* from, Quad& to) {
  std::memcpy(&to, from, sizeof to);
}

}  // namespace deepbench
