// The bound of the error of a projection of correct outputs, as a multiple of the bound of one
// output of typical size.
//
// A projection of N outputs adds up their rounding errors, each times a random weight in [-1, 1).
// The errors cancel for the most part: 2 sqrt(N) typical bounds are about eight standard deviations
// of their sum. The errors of a few large outputs do not cancel, and each is in proportion to its
// output: the largest of 10^9 outputs is six times as large as the typical one, or as the typical
// one of the largest column where columns have scales. The bound is the sum of both parts, which
// one row of correct outputs in 10^10 exceeds, for any N.
#pragma once

#include <cmath>

namespace deepbench {

// `largest_column` is the typical size of the largest column's outputs, as a multiple of that of
// all outputs.
inline double projection_bound_over_typical(double outputs, double largest_column = 1) {
  return 2 * std::sqrt(outputs) + 6 * largest_column;
}

// The typical size of the sum of the outputs' bounds, as a share of a projection's bound.
inline double typical_share_of_projection_bound(double outputs) {
  return std::sqrt(outputs) / projection_bound_over_typical(outputs);
}

}  // namespace deepbench
