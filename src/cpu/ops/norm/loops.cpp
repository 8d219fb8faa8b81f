// Loops that compilers vectorize. Sums are kept in lanes, whose order the source defines.
#include "ops/norm/loops.hpp"

#include <cmath>

#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/fill.h"
#include "rounded_bfloat16.hpp"

namespace deepbench::cpu {
namespace {

constexpr int kLanes = 32;

float total_of(const float (&lanes)[kLanes]) {
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

DEEPBENCH_VECTOR_CLONES float sum(const float* x, int64_t n) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += x[i + lane];
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += x[i];
  return total_of(lanes);
}

DEEPBENCH_VECTOR_CLONES float sum_of_squares(const float* x, int64_t n, float mean) {
  float lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      const float centered = x[i + lane] - mean;
      lanes[lane] += centered * centered;
    }
  for (int lane = 0; i < n; ++i, ++lane) lanes[lane] += (x[i] - mean) * (x[i] - mean);
  return total_of(lanes);
}

DEEPBENCH_VECTOR_CLONES void normalize_shifted(const float* x, int64_t n, SetMoments of,
                                               const float* scale, const float* shift, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = scale[i] * ((x[i] - of.mean) * of.deviation) + shift[i];
}

DEEPBENCH_VECTOR_CLONES void normalize_unshifted(const float* x, int64_t n, SetMoments of,
                                                 const float* scale, float* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = scale[i] * ((x[i] - of.mean) * of.deviation);
}

DEEPBENCH_VECTOR_CLONES void add_scale_gradient(const float* x, const float* dy, int64_t n,
                                                SetMoments of, float* dscale) {
  for (int64_t i = 0; i < n; ++i) dscale[i] += dy[i] * ((x[i] - of.mean) * of.deviation);
}

}  // namespace

SetMoments moments(const float* x, int64_t n, bool has_mean, float epsilon) {
  SetMoments made;
  if (has_mean) made.mean = sum(x, n) / float(n);
  made.deviation = 1 / std::sqrt(sum_of_squares(x, n, made.mean) / float(n) + epsilon);
  return made;
}

void normalize(const float* x, int64_t n, SetMoments of, const float* scale, const float* shift,
               float* y) {
  if (shift)
    normalize_shifted(x, n, of, scale, shift, y);
  else
    normalize_unshifted(x, n, of, scale, y);
}

DEEPBENCH_VECTOR_CLONES GradientMeans gradient_means(const float* x, const float* dy, int64_t n,
                                                     SetMoments of, const float* scale) {
  float h_lanes[kLanes] = {}, hz_lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int lane = 0; lane < kLanes; ++lane) {
      const float h = scale[i + lane] * dy[i + lane];
      h_lanes[lane] += h;
      hz_lanes[lane] += h * ((x[i + lane] - of.mean) * of.deviation);
    }
  for (int lane = 0; i < n; ++i, ++lane) {
    const float h = scale[i] * dy[i];
    h_lanes[lane] += h;
    hz_lanes[lane] += h * ((x[i] - of.mean) * of.deviation);
  }
  return {total_of(h_lanes) / float(n), total_of(hz_lanes) / float(n)};
}

DEEPBENCH_VECTOR_CLONES void gradient(const float* x, const float* dy, int64_t n, SetMoments of,
                                      GradientMeans means, const float* scale, float* dx) {
  for (int64_t i = 0; i < n; ++i) {
    const float z = (x[i] - of.mean) * of.deviation;
    dx[i] = of.deviation * (scale[i] * dy[i] - means.h - z * means.hz);
  }
}

void add_column_gradients(const float* x, const float* dy, int64_t n, SetMoments of, float* dscale,
                          float* dshift) {
  add_scale_gradient(x, dy, n, of, dscale);
  if (dshift) add_to(dy, n, dshift);
}

DEEPBENCH_VECTOR_CLONES void add_to(const float* values, int64_t n, float* sums) {
  for (int64_t i = 0; i < n; ++i) sums[i] += values[i];
}

DEEPBENCH_VECTOR_CLONES void widen_bfloat16(const uint16_t* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = deepbench_from_bfloat16(from[i]);
}

DEEPBENCH_VECTOR_CLONES void narrow_to_bfloat16(const float* from, int64_t n, uint16_t* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = rounded_bfloat16(from[i]);
}

}  // namespace deepbench::cpu
