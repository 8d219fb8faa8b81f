// Detects once which vector extensions the processor and the operating system support.
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

SimdLevel& level_in_use() {
  static SimdLevel level = widest_supported();
  return level;
}

}  // namespace

SimdLevel simd_level() { return level_in_use(); }

SimdLevel limit_simd_level(SimdLevel level) {
  return level_in_use() = std::min(level, widest_supported());
}

}  // namespace deepbench
