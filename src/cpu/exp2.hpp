// exp2 for loops that compilers vectorize.
#pragma once

#include <cstdint>
#include <cstring>

#include "deepbench/backend/vector_clones.hpp"

namespace deepbench::cpu {

// 2^x for x <= 0 to two units in the last place. The whole part of x becomes the exponent, and a
// Taylor polynomial gives the power of the remainder, which lies in [-1/2, 1/2]. Powers below
// 2^-126, the smallest normal float, are replaced by it.
DEEPBENCH_VECTOR_INLINED inline float exp2_of_nonpositive(float x) {
  constexpr float kRounding = 12582912.0f;  // its last place is 1
  const float limited = x < -126.0f ? -126.0f : x;
  const float shifted = limited + kRounding;
  const float rest = limited - (shifted - kRounding);
  float power = 1.525273380e-5f;
  power = power * rest + 1.540353039e-4f;
  power = power * rest + 1.333355815e-3f;
  power = power * rest + 9.618129108e-3f;
  power = power * rest + 5.550410866e-2f;
  power = power * rest + 2.402265070e-1f;
  power = power * rest + 6.931471806e-1f;
  power = power * rest + 1.0f;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;  // the bits above the whole part are shifted out
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return power * scale;
}

}  // namespace deepbench::cpu
