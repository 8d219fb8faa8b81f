// The logistic function in float64, and the error of computing it in float. The bounds of all
// functions that contain it use them.
#pragma once

#include <cmath>

#include "deepbench/core/precision.hpp"

namespace deepbench {

// The exact value, and a bound of the error of computing it in float.
struct FloatResult {
  double value = 0, error = 0;
};

// Covers the error of the argument, and four units in the last place.
inline double relative_error_of_exp(double argument) {
  return (2 * std::abs(argument) + 8) * kRoundoffFloat;
}

// The quotient has the error of exp and four roundoffs of itself, and in addition four roundoffs of
// 1, since a kernel may compute it from the hyperbolic tangent.
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
