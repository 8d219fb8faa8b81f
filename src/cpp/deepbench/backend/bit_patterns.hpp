// The bit patterns that filling and verification need, for every type of stored elements.
// Header-only, for backends.
#pragma once

#include <cstdint>

#include "deepbench/fill.h"
#include "deepbench/plugin.h"

namespace deepbench::plugin {

// The value that marks an output element as not written: a NaN that no arithmetic unit produces,
// where the format has more than one NaN. Integers have DEEPBENCH_POISON_INTEGER, and those of one
// byte DEEPBENCH_POISON_BYTE, which a correct output may contain.
constexpr uint64_t poison_bits(deepbench_type type) {
  switch (type) {
    case DEEPBENCH_F64:
      return 0x7ff8dead00000000u;
    case DEEPBENCH_F32:
      return 0x7fc0deadu;
    case DEEPBENCH_F16:
      return 0x7eadu;
    case DEEPBENCH_BF16:
      return 0x7fdeu;
    case DEEPBENCH_E4M3:
      return 0x7fu;
    case DEEPBENCH_E5M2:
      return 0x7eu;
    case DEEPBENCH_S32:
      return static_cast<uint32_t>(DEEPBENCH_POISON_INTEGER);
    default:
      return static_cast<uint8_t>(DEEPBENCH_POISON_BYTE);
  }
}

// An element is not finite if all of these bits are set. 0 for types whose values are all finite.
constexpr uint64_t non_finite_mask(deepbench_type type) {
  switch (type) {
    case DEEPBENCH_F64:
      return 0x7ff0000000000000u;
    case DEEPBENCH_F32:
      return 0x7f800000u;
    case DEEPBENCH_F16:
      return 0x7c00u;
    case DEEPBENCH_BF16:
      return 0x7f80u;
    case DEEPBENCH_E4M3:
      return 0x7fu;
    case DEEPBENCH_E5M2:
      return 0x7cu;
    default:
      return 0;
  }
}

constexpr uint64_t bits_of_one(deepbench_type type) {
  switch (type) {
    case DEEPBENCH_F64:
      return 0x3ff0000000000000u;
    case DEEPBENCH_F32:
      return 0x3f800000u;
    case DEEPBENCH_F16:
      return 0x3c00u;
    case DEEPBENCH_BF16:
      return 0x3f80u;
    case DEEPBENCH_E4M3:
      return 0x38u;
    case DEEPBENCH_E5M2:
      return 0x3cu;
    default:
      return 1;
  }
}

}  // namespace deepbench::plugin
