// Bounds the error of a sum of products in floating point, relative to sqrt(S^2 + c^2), where S is
// the typical size of a partial sum (the root of the sum of the products' squares) and c is the
// sum.
#pragma once

#include <cmath>
#include <cstdint>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/precision.hpp"

namespace deepbench {

inline constexpr double kRoundoffDouble = 1.0 / (uint64_t{1} << 53);

// The error of sums that are rounded to the nearest, in any order, is about 0.4 sqrt(products)
// sum_roundoff S: the factor leaves a margin of ten.
inline double random_error_of_sums(double products, const PrecisionInfo& precision) {
  return 4 * std::sqrt(products) * precision.sum_roundoff;
}

// Matrix units, which every precision except float may use, also truncate partial sums toward zero.
// Such errors add up as long as a partial sum keeps its sign, as most partial sums do most of the
// time.
inline double error_of_sums(double products, const PrecisionInfo& precision) {
  const double random = random_error_of_sums(products, precision);
  if (precision.precision == Precision::kFloat) return random;
  return random + common_error_of_sums(products, precision.sum_roundoff);
}

}  // namespace deepbench
