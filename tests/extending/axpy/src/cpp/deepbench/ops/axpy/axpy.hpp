// The scaled sum of two vectors, y = a x + y with a = 1/2: the typed problem. Header-only, for the
// core and for backends.
#pragma once

#include <cstdint>

#include "deepbench/core/precision.hpp"

namespace deepbench {

struct Axpy {
  int64_t n = 0;
  PrecisionInfo precision;

  static constexpr double kA = 0.5;
  // fill.h streams of the operands.
  static constexpr uint32_t kStreamX = 0, kStreamY = 1;

  deepbench_type type() const { return precision.c; }
  int64_t vector_bytes() const { return n * size_of(type()); }
  double flops() const { return 2.0 * double(n); }
  double traffic() const { return 3.0 * double(vector_bytes()); }  // x is read; y read and written
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Axpy axpy_problem(const Attributes& attributes) {
  return {attributes.integer("n"), precision_info(attributes.text("precision"))};
}

}  // namespace deepbench
