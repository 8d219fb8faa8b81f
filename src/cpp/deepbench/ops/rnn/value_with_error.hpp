// A number and the error that a computation in float may have: errors add up to first order, and
// each operation adds its rounding.
#pragma once

#include <algorithm>
#include <cmath>

#include "deepbench/core/precision.hpp"

namespace deepbench {

struct ValueWithError {
  double value = 0, error = 0;

  // The value after it was stored, or read by a unit, with this roundoff.
  ValueWithError rounded(double roundoff) const {
    return {value, error + roundoff * std::abs(value)};
  }
};

inline ValueWithError operator+(const ValueWithError& a, const ValueWithError& b) {
  return ValueWithError{a.value + b.value, a.error + b.error}.rounded(kRoundoffFloat);
}

inline ValueWithError operator-(const ValueWithError& a, const ValueWithError& b) {
  return ValueWithError{a.value - b.value, a.error + b.error}.rounded(kRoundoffFloat);
}

inline ValueWithError operator*(const ValueWithError& a, const ValueWithError& b) {
  const double error = std::abs(a.value) * b.error + std::abs(b.value) * a.error;
  return ValueWithError{a.value * b.value, error + a.error * b.error}.rounded(kRoundoffFloat);
}

// The value stored as an 8-bit integer divided by `scale`; where it may round to either of two
// integers, their mean.
inline ValueWithError quantize(const ValueWithError& a, double scale) {
  const auto quantize_value = [scale](double value) {
    return std::clamp(std::nearbyint(scale * value), -128.0, 127.0) / scale;
  };
  const double low = quantize_value(a.value - a.error), high = quantize_value(a.value + a.error);
  return {(low + high) / 2, (high - low) / 2};
}

inline ValueWithError one_minus(const ValueWithError& a) { return ValueWithError{1, 0} - a; }

// `function_error` is the error of the library's function. The squared error of the argument bounds
// the terms of second order: half of the second derivative is at most 0.4.
inline ValueWithError sigmoid(const ValueWithError& a, double function_error) {
  const double value = 1 / (1 + std::exp(-a.value));
  return {value, value * (1 - value) * a.error + a.error * a.error + function_error};
}

inline ValueWithError tanh(const ValueWithError& a, double function_error) {
  const double value = std::tanh(a.value);
  return {value, (1 - value * value) * a.error + a.error * a.error + function_error};
}

}  // namespace deepbench
