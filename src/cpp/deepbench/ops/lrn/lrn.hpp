// Local response normalization across channels: the typed problem. Header-only, for the core and
// for backends.
//
// y = x / (k + alpha / size * S)^beta, where S is the sum of the squares of x at the same place in
// the `size` channels around it. Channels that do not exist count as 0. x and y are n x c x h x w.
#pragma once

#include <cstdint>

#include "deepbench/core/precision.hpp"

namespace deepbench {

struct Lrn {
  int64_t n = 0, c = 0, h = 0, w = 0, size = 0;
  PrecisionInfo precision;

  static constexpr double kAlpha = 1e-4, kBeta = 0.75, kK = 1;
  static constexpr uint32_t kStreamX = 0;  // fill.h stream of x

  deepbench_type type() const { return precision.a; }
  int64_t plane() const { return h * w; }
  int64_t elements() const { return n * c * plane(); }
  double traffic() const { return 2.0 * double(elements()) * double(size_of(type())); }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Lrn lrn_problem(const Attributes& a) {
  Lrn lrn;
  lrn.n = a.integer("n"), lrn.c = a.integer("c");
  lrn.h = a.integer("h"), lrn.w = a.integer("w");
  lrn.size = a.integer("size");
  lrn.precision = precision_info(a.text("precision"));
  return lrn;
}

}  // namespace deepbench
