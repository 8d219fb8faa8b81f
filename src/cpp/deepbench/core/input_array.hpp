// Describes the numbers of an input that is one array, as its operation defines it. Header-only,
// for the core and for backends.
#pragma once

#include <cstdint>

#include "deepbench/core/precision.hpp"
#include "deepbench/fill.h"

namespace deepbench {

struct InputArray {
  uint32_t stream = 0;  // stream of fill.h
  deepbench_type type = DEEPBENCH_F32;
  uint64_t elements = 0;
  // A power of two, by which every generated element is multiplied.
  float scale = 1;
  // The numbers that a refill with "integers" writes instead: small integers, times a power of two.
  deepbench_small_integers integers = {1u << 28, 1};
  float integer_scale = 1;

  uint64_t bytes() const { return elements * uint64_t(size_of(type)); }
};

}  // namespace deepbench
