// How far the projection of correct outputs may be off, as a multiple of the bound of one output of
// typical size.
//
// A projection of N outputs adds up their rounding errors, each times a random weight in [-1, 1).
// The errors cancel for the most part, and 2 sqrt(N) typical bounds are about eight standard
// deviations of their sum. A few outputs do not cancel, and each is rounded in proportion to its
// own size: the largest of 10^9 outputs is six times the typical one, or six times that of the
// largest column where columns have scales. Of the rows of correct outputs one in 10^10 exceeds the
// sum of both, for any N.
#pragma once

#include <cmath>

namespace deepbench {

// `largest_column`: the typical size of its outputs, as a multiple of that of all outputs.
inline double projection_bound_over_typical(double outputs, double largest_column = 1) {
  return 2 * std::sqrt(outputs) + 6 * largest_column;
}

// The typical size of the sum of the outputs' bounds, as a share of a projection's bound.
inline double typical_share_of_projection_bound(double outputs) {
  return std::sqrt(outputs) / projection_bound_over_typical(outputs);
}

}  // namespace deepbench
