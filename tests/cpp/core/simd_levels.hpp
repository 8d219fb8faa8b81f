// Runs a test's body on every vector unit that this processor has.
#pragma once

#include <doctest/doctest.h>

#include "deepbench/core/simd_level.hpp"

namespace deepbench {
namespace testing {

template <class Body>
void for_each_simd_level(const Body& body) {
  const SimdLevel widest = simd_level();
  for (SimdLevel unit : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (limit_simd_level(unit) != unit) break;
    CAPTURE(int(unit));
    body();
  }
  limit_simd_level(widest);
}

}  // namespace testing
}  // namespace deepbench
