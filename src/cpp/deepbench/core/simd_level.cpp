// Asks the processor, once, for the vectors that it and the operating system support.
#include "deepbench/core/simd_level.hpp"

#include <algorithm>

namespace deepbench {
namespace {

SimdLevel widest_supported() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return SimdLevel::kAvx512;
  if (__builtin_cpu_supports("avx2")) return SimdLevel::kAvx2;
#endif
  return SimdLevel::kBaseline;
}

SimdLevel& unit_in_use() {
  static SimdLevel unit = widest_supported();
  return unit;
}

}  // namespace

SimdLevel simd_level() { return unit_in_use(); }

SimdLevel limit_simd_level(SimdLevel unit) {
  return unit_in_use() = std::min(unit, widest_supported());
}

}  // namespace deepbench
