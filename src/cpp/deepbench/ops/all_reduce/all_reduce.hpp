// Sum over all ranks, left on every rank: the typed problem. Header-only.
#pragma once

#include <cstdint>

#include "deepbench/ops/precision.hpp"

namespace deepbench {

struct AllReduce {
  int64_t elements = 0;
  PrecisionInfo precision;

  double bytes() const { return double(elements) * double(size_of(precision.c)); }
};

template <class Attributes>
AllReduce all_reduce_problem(const Attributes& a) {
  return {a.integer("elements"), precision_info(a.text("precision"))};
}

}  // namespace deepbench
