// What a kernel leaves in its output, and how a type stores a value.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "deepbench/fill.h"
#include "deepbench/plugin.h"

namespace deepbench::testing {

struct Outputs {
  deepbench_type type = DEEPBENCH_F32;
  std::vector<double> values;
  int64_t rows = 1;  // of the column-major matrix that the values are taken as
  // Elements that the kernel does not write keep what they held before the call.
  std::vector<char> is_written{};

  bool writes(size_t i) const { return is_written.empty() || is_written[i]; }

  int64_t columns() const { return int64_t(values.size()) / rows; }
  size_t place(int64_t row, int64_t column) const { return size_t(row + column * rows); }
};

// The value as an output of this type holds it.
inline double stored(deepbench_type type, double value) {
  if (!std::isfinite(value)) return value;
  switch (type) {
    case DEEPBENCH_F32:
      return double(float(value));
    case DEEPBENCH_F16:
      return double(deepbench_from_half(deepbench_to_half(float(value))));
    case DEEPBENCH_BF16:
      return double(deepbench_from_bfloat16(deepbench_to_bfloat16(float(value))));
    case DEEPBENCH_S8:
      return std::clamp(std::nearbyint(value), -128.0, 127.0);
    default:
      return value;
  }
}

// The distance from a value to the next that the type holds.
inline double last_place(deepbench_type type, double value) {
  const int digits = type == DEEPBENCH_F32 ? 24 : type == DEEPBENCH_F16 ? 11 : 8;
  if (type != DEEPBENCH_F32 && type != DEEPBENCH_F16 && type != DEEPBENCH_BF16) return 1;
  return std::ldexp(1, std::ilogb(value == 0 ? 1 : value) + 1 - digits);
}

// What an output of this type holds after poison_outputs().
inline double poison(deepbench_type type) {
  if (type == DEEPBENCH_S8) return DEEPBENCH_POISON_BYTE;
  return type == DEEPBENCH_S32 ? DEEPBENCH_POISON_INTEGER
                               : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace deepbench::testing
