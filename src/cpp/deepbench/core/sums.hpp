// Sums in double precision over arrays of floats. The order of summation is fixed, so every
// processor computes the same result.
#pragma once

#include <cstdint>

#include "deepbench/core/export.hpp"

namespace deepbench {

struct DotSums {
  double products = 0;  // sum of a b
  double squares = 0;   // sum of (a b)^2
};

DEEPBENCH_API DotSums dot_sums(const float* a, const float* b, int64_t count);

inline constexpr int kVectorsTogether = 4;

// For each of `vectors` vectors of `count` elements, which follow one another in `a`, and each of
// `others` in `b`: sums[i * others + j] = dot_sums(vector i of a, vector j of b). With
// AVX-512, kVectorsTogether of them take less time together than one after another.
DEEPBENCH_API void dot_sums_of_pairs(const float* a, int64_t vectors, const float* b,
                                     int64_t others, int64_t count, DotSums* sums);

// Sums values[i] weights[i] in `products` and the squares of `values` in `squares`.
DEEPBENCH_API DotSums weighted_sums(const float* values, const double* weights, int64_t count);
// Sums values[i] weights[i] in `products` and their squares in `squares`.
DEEPBENCH_API DotSums weighted_products(const float* values, const double* weights, int64_t count);
// The sum of values[i] weights[i] alone, which takes less time.
DEEPBENCH_API double weighted_sum(const float* values, const double* weights, int64_t count);

// For each row i < rows: adds the sum of factors[j] values[j * stride + i] over all columns j to
// sums[i]. Unless `squares` is null, it also adds the sum of values[j * stride + i]^2, without the
// factors, to squares[i].
DEEPBENCH_API void add_columns(const float* values, int64_t stride, int64_t rows, int64_t columns,
                               const double* factors, double* sums, double* squares);
// The same with the squares of the products, factors[j] values[j * stride + i].
DEEPBENCH_API void add_columns_and_squared_products(const float* values, int64_t stride,
                                                    int64_t rows, int64_t columns,
                                                    const double* factors, double* sums,
                                                    double* squares);

}  // namespace deepbench
