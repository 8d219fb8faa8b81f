// Sum over all ranks, left on every rank: the typed problem. Header-only.
#pragma once

#include <algorithm>
#include <cmath>
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

// How many sums can follow one another in place before a value could leave its type's range: they
// begin with deepbench_summand's.
inline int64_t sums_before_overflow(deepbench_type type, int ranks) {
  const double first = type == DEEPBENCH_F32 ? 24 : type == DEEPBENCH_F16 ? 11 : 8;  // bits
  const double most = type == DEEPBENCH_F16 ? 15 : 127;
  return 1 + static_cast<int64_t>((most - first) / std::log2(std::max(2, ranks)));
}

}  // namespace deepbench
