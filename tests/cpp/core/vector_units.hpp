// Runs a test's body on every vector unit that this processor has.
#pragma once

#include <doctest/doctest.h>

#include "deepbench/core/vector_unit.hpp"

namespace deepbench {
namespace testing {

template <class Body>
void for_each_vector_unit(const Body& body) {
  const VectorUnit widest = vector_unit();
  for (VectorUnit unit : {VectorUnit::kBaseline, VectorUnit::kAvx2, VectorUnit::kAvx512}) {
    if (limit_vector_unit(unit) != unit) break;
    CAPTURE(int(unit));
    body();
  }
  limit_vector_unit(widest);
}

}  // namespace testing
}  // namespace deepbench
