// Asks the processor, once, for the vectors that it and the operating system support.
#include "deepbench/core/vector_unit.hpp"

#include <algorithm>

namespace deepbench {
namespace {

VectorUnit widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
    return VectorUnit::kAvx512;
  if (__builtin_cpu_supports("avx2")) return VectorUnit::kAvx2;
#endif
  return VectorUnit::kBaseline;
}

VectorUnit& unit_in_use() {
  static VectorUnit unit = widest();
  return unit;
}

}  // namespace

VectorUnit vector_unit() { return unit_in_use(); }

VectorUnit limit_vector_unit(VectorUnit unit) { return unit_in_use() = std::min(unit, widest()); }

}  // namespace deepbench
