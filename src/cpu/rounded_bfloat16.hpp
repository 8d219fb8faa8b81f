// Rounding to bfloat16 for loops that compilers vectorize.
#pragma once

#include <cstdint>

#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/fill.h"

namespace deepbench::cpu {

// Rounds to nearest, ties to even. A NaN remains a NaN.
DEEPBENCH_VECTOR_INLINED inline uint16_t rounded_bfloat16(float value) {
  const uint32_t bits = deepbench_float_bits(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>((value != value ? bits | 0x400000u : rounded) >> 16);
}

}  // namespace deepbench::cpu
