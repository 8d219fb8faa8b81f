// Sums in double over runs of floats. Each order of summing is fixed, so that the result is the
// same on every processor.
#pragma once

#include <cstdint>

#include "deepbench/core/export.hpp"

namespace deepbench {

struct DotSums {
  double products = 0;  // sum of a b
  double squares = 0;   // sum of (a b)^2
};

DEEPBENCH_API DotSums dot_sums(const float* a, const float* b, int64_t count);

// The sum of values[i] weights[i], and that of the squares of values.
DEEPBENCH_API DotSums weighted_sums(const float* values, const double* weights, int64_t count);

// sums[i] += the sum over j of factors[j] values[j * stride + i], for i < rows; squares[i] += that
// of the squares of values.
DEEPBENCH_API void add_columns(const float* values, int64_t stride, int64_t rows, int64_t columns,
                               const double* factors, double* sums, double* squares);

}  // namespace deepbench
