// How far outputs are from what is expected of them, in units of the bounds.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "deepbench/core/expected_output.hpp"

namespace deepbench::testing {

// 1 where an output is just within its bound; infinite where one is off that must be exact, or is
// not a number. got[i] is the output that expected.indices[i] names.
inline double worst_error(const ExpectedElements& expected, const std::vector<double>& got) {
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected.values[i]);
    if (error == 0) continue;
    const double ratio = expected.bounds[i] > 0 && std::isfinite(error)
                             ? error / expected.bounds[i]
                             : std::numeric_limits<double>::infinity();
    worst = std::max(worst, ratio);
  }
  return worst;
}

// Relative to 1 and to the larger of both values, whichever is larger.
inline double largest_difference(const std::vector<double>& left,
                                 const std::vector<double>& right) {
  double largest = left.size() == right.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    const double size = std::max({1.0, std::abs(left[i]), std::abs(right[i])});
    largest = std::max(largest, std::abs(left[i] - right[i]) / size);
  }
  return largest;
}

}  // namespace deepbench::testing
