// Sum over all ranks, left on every rank: the typed problem. Header-only.
#pragma once

#include <cstdint>

#include "deepbench/ops/precision.hpp"

namespace deepbench {

struct AllReduce {
  int64_t elements = 0;
  PrecisionInfo precision;
  bool in_place = false;  // the sum replaces what the rank has added to it

  double bytes() const { return double(elements) * double(size_of(precision.c)); }
};

template <class Attributes>
AllReduce all_reduce_problem(const Attributes& a) {
  return {a.integer("elements"), precision_info(a.text("precision")), a.text("in_place") == "yes"};
}

}  // namespace deepbench
