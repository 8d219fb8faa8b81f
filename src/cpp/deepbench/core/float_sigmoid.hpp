// The logistic function in float64, and how far arithmetic in float may be off: what the bounds of
// functions that contain it have in common.
#pragma once

#include <cmath>

#include "deepbench/core/precision.hpp"

namespace deepbench {

// A value as exact arithmetic gives it, and the error of arithmetic in float.
struct FloatResult {
  double value = 0, error = 0;
};

// For its argument, and four units in the last place.
inline double relative_error_of_exp(double argument) {
  return (2 * std::abs(argument) + 8) * kRoundoffFloat;
}

// A quotient: off by the error of exp and four roundoffs of itself, and by four of 1, since a
// kernel may compute it from the hyperbolic tangent.
inline FloatResult sigmoid_in_float(double x) {
  const double value = 1 / (1 + std::exp(-x));
  return {value, value * (relative_error_of_exp(x) + 4 * kRoundoffFloat) + 4 * kRoundoffFloat};
}

// x times the logistic function, which rounds once more.
inline FloatResult silu_in_float(double x) {
  const FloatResult sigmoid = sigmoid_in_float(x);
  const double value = x * sigmoid.value;
  return {value, std::abs(x) * sigmoid.error + std::abs(value) * 4 * kRoundoffFloat};
}

}  // namespace deepbench
