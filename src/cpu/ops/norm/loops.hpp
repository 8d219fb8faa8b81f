// The parts of a built-in normalization: loops over the elements of one set, in float. All arrays
// have n elements, even those with a value for each column.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

struct SetMoments {
  float mean = 0, deviation = 0;  // the inverse deviation; the mean of rms is 0
};

// Makes two passes: the squares are those of x less its mean.
SetMoments moments(const float* x, int64_t n, bool has_mean, float epsilon);

// Computes y = g z + b, without b if `shift` is null.
void normalize(const float* x, int64_t n, SetMoments of, const float* scale, const float* shift,
               float* y);

struct GradientMeans {
  float h = 0, hz = 0;
};
GradientMeans gradient_means(const float* x, const float* dy, int64_t n, SetMoments of,
                             const float* scale);
// Computes dx. For rms the mean of h is 0.
void gradient(const float* x, const float* dy, int64_t n, SetMoments of, GradientMeans means,
              const float* scale, float* dx);
// Adds dy z to dscale, and dy to dshift unless it is null.
void add_column_gradients(const float* x, const float* dy, int64_t n, SetMoments of, float* dscale,
                          float* dshift);

void add_to(const float* values, int64_t n, float* sums);
void widen_bfloat16(const uint16_t* from, int64_t n, float* to);
void narrow_to_bfloat16(const float* from, int64_t n, uint16_t* to);

}  // namespace deepbench::cpu
