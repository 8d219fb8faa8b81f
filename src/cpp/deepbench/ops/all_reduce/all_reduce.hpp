// The sum over all ranks, with the result on every rank: the typed problem. Header-only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "deepbench/core/precision.hpp"

namespace deepbench {

struct AllReduce {
  int64_t elements = 0;
  PrecisionInfo precision;
  bool in_place = false;  // the sum replaces the rank's summand

  double bytes() const { return double(elements) * double(size_of(precision.c)); }
};

template <class Attributes>
AllReduce all_reduce_problem(const Attributes& a) {
  return {a.integer("elements"), precision_info(a.text("precision")), a.text("in_place") == "yes"};
}

// How many sums in place can follow one another before a value can leave the range of its type; the
// first sum adds the values of deepbench_summand().
inline int64_t sums_before_overflow(deepbench_type type, int ranks) {
  const double first_sum_bits = type == DEEPBENCH_F32 ? 24 : type == DEEPBENCH_F16 ? 11 : 8;
  const double max_bits = type == DEEPBENCH_F16 ? 15 : 127;
  return 1 + static_cast<int64_t>((max_bits - first_sum_bits) / std::log2(std::max(2, ranks)));
}

}  // namespace deepbench
