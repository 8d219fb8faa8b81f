// Softmax over the rows of a row-major matrix, and its gradient: the typed problem. Header-only,
// for the core and for backends.
//
//   forward   y[i] = exp(x[i] - max x) / sum exp(x - max x)
//   gradient  dx[i] = y[i] (dy[i] - sum y dy), which is defined for any y
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "deepbench/core/input_array.hpp"
#include "deepbench/core/precision.hpp"

namespace deepbench {

struct Softmax {
  int64_t rows = 0, columns = 0;
  bool is_forward = true;
  PrecisionInfo precision;

  // fill.h streams of the inputs: x or y, and dy.
  static constexpr uint32_t kStreamX = 0, kStreamDy = 1;
  // After a refill with "integers", x holds multiples of kGap. In float, exp(128) overflows and
  // exp(-128) is 0: where a row has m maxima, y is 1/m there and 0 elsewhere.
  static constexpr float kGap = 128;
  static constexpr int64_t kMaxima = 8;  // mean number of maxima of a row
  // The fact of a kernel that stores exponentials in the output's type before it divides them.
  static constexpr const char* kRoundedExponentials = "rounded_exponentials";

  deepbench_type type() const { return precision.c; }
  bool may_round_exponentials() const { return is_forward && size_of(type()) == 2; }
  uint64_t elements() const { return uint64_t(rows) * uint64_t(columns); }

  // The inputs in the order of a call's operands.
  std::vector<InputArray> inputs() const {
    if (is_forward) return {{kStreamX, type(), elements(), 1, integers(), kGap}};
    return {{kStreamX, type(), elements()}, {kStreamDy, type(), elements()}};
  }
  double traffic() const {
    return double(inputs().size() + 1) * double(elements()) * double(size_of(type()));
  }

 private:
  // The values -1, 0 and 1. Half of those that are not 0 are maxima.
  deepbench_small_integers integers() const {
    const double density = std::min(1.0, 2.0 * double(kMaxima) / double(columns));
    return {uint32_t(density * double(1u << 28)), 1};
  }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Softmax softmax_problem(const Attributes& attributes) {
  return {attributes.integer("rows"), attributes.integer("columns"),
          attributes.text("phase") == "fwd", precision_info(attributes.text("precision"))};
}

}  // namespace deepbench
