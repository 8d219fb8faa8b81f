// Runs a test at every SIMD level of this processor.
#pragma once

#include <doctest/doctest.h>

#include "deepbench/core/simd_level.hpp"

namespace deepbench {
namespace testing {

template <class Body>
void for_each_simd_level(const Body& body) {
  const SimdLevel widest = simd_level();
  for (SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (limit_simd_level(level) != level) break;
    CAPTURE(int(level));
    body();
  }
  limit_simd_level(widest);
}

}  // namespace testing
}  // namespace deepbench
