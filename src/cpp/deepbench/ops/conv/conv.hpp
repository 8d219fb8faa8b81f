// Convolution as cross-correlation, in two or three dimensions, and its gradients: the typed
// problem and the order in which verification numbers its outputs. Header-only.
//
// Input x [n][c][d][h][w], filters w [k][c/groups][t][r][s], output y [n][k][o][p][q]; in two
// dimensions d = t = o = 1. s is the width of a filter, r its height, t its depth. dy is stored
// like y, dx like x, dw like w.
//   y[n,k,o,p,q] = sum over c, t, r, s of w[k,c,t,r,s] x[n, c + c/groups * (k's group),
//                  o stride_d - pad_d + t dilation_d, p stride_h - ..., q stride_w - ...]
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "deepbench/core/precision.hpp"

namespace deepbench {

enum class ConvPhase { kForward, kBackwardData, kBackwardFilter };

// An output tensor [first][second][rest]. Verification numbers its elements with one of the first
// two dimensions slowest, and projects along that dimension.
struct ConvOutput {
  int64_t first = 1, second = 1, rest = 1;
  bool second_is_slowest = false;

  int64_t size() const { return first * second * rest; }
  int64_t slowest_extent() const { return second_is_slowest ? second : first; }
  int64_t rows() const { return size() / slowest_extent(); }  // rows of the projection

  // Converts a position in the tensor to an index in verification's order, and back.
  int64_t index(int64_t i, int64_t j, int64_t within) const {
    return (second_is_slowest ? j * first + i : i * second + j) * rest + within;
  }
  int64_t tensor_index(int64_t index) const {
    if (!second_is_slowest) return index;
    const int64_t j = index / rest / first, i = index / rest % first;
    return (i * second + j) * rest + index % rest;
  }
};

struct Conv {
  int64_t w = 0, h = 0, c = 0, n = 0, k = 0, s = 0, r = 0;
  int64_t pad_w = 0, pad_h = 0, stride_w = 1, stride_h = 1, dilation_w = 1, dilation_h = 1;
  int64_t d = 1, t = 1, pad_d = 0, stride_d = 1, dilation_d = 1;
  int64_t groups = 1;
  ConvPhase phase = ConvPhase::kForward;
  PrecisionInfo precision;
  deepbench_type x_type = DEEPBENCH_F32;  // int8: s8 or u8
  int shift = 0;  // 8-bit outputs are sums times 2^-shift, rounded and saturated

  // fill.h streams of the operands.
  static constexpr uint32_t kStreamX = 0, kStreamW = 1, kStreamDy = 2;

  static int64_t output_extent(int64_t size, int64_t filter, int64_t pad, int64_t stride,
                               int64_t dilation) {
    const int64_t room = size + 2 * pad - (dilation * (filter - 1) + 1);
    return room < 0 ? 0 : 1 + room / stride;
  }
  int64_t o() const { return output_extent(d, t, pad_d, stride_d, dilation_d); }  // output depth
  int64_t p() const { return output_extent(h, r, pad_h, stride_h, dilation_h); }  // output height
  int64_t q() const { return output_extent(w, s, pad_w, stride_w, dilation_w); }  // output width

  bool is_3d() const { return d > 1 || t > 1 || pad_d > 0; }
  int64_t group_c() const { return c / groups; }
  int64_t group_k() const { return k / groups; }
  int64_t taps() const { return t * r * s; }
  int64_t x_channel_size() const { return d * h * w; }        // elements of one channel of x
  int64_t y_channel_size() const { return o() * p() * q(); }  // elements of one channel of y
  int64_t x_size() const { return n * c * x_channel_size(); }
  int64_t w_size() const { return k * group_c() * taps(); }
  int64_t y_size() const { return n * k * y_channel_size(); }

  // Useful work; it is the same for every phase.
  double flops() const {
    return 2.0 * double(n) * double(k) * double(c) * double(taps()) * double(y_channel_size()) /
           double(groups);
  }

  bool saturates() const { return precision.c == DEEPBENCH_S8; }
  double output_scale() const { return std::ldexp(1, -shift); }

  // Number of products that are summed in an element of the phase's output. Padding and strides can
  // reduce it.
  int64_t products_per_output() const {
    if (phase == ConvPhase::kForward) return group_c() * taps();
    return phase == ConvPhase::kBackwardData ? group_k() * taps() : n * y_channel_size();
  }

  // The slowest dimension is the one that makes the projection's reference cheapest. For y and dx
  // it is the channels (of one group), or the batch if that is larger; for dw it is k, or c/groups
  // if that is larger.
  ConvOutput output() const {
    switch (phase) {
      case ConvPhase::kForward:
        return {n, k, y_channel_size(), group_k() >= n};
      case ConvPhase::kBackwardData:
        return {n, c, x_channel_size(), group_c() >= n};
      default:
        return {k, group_c(), taps(), group_c() > group_k()};
    }
  }
};

// The shift that brings the standard deviation of sums of uniform 8-bit integers closest to 64,
// which is half of the largest 8-bit value: most outputs then differ from one another, and some
// saturate.
inline int output_shift(const Conv& conv) {
  constexpr double kSigned = 73.9, kUnsigned = 147.8;  // root mean squares of elements
  const double x = conv.x_type == DEEPBENCH_U8 ? kUnsigned : kSigned;
  const double deviation = std::sqrt(double(conv.products_per_output())) * x * kSigned;
  return std::max(0, int(std::lround(std::log2(deviation / 64))));
}

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Conv conv_problem(const Attributes& a) {
  // Attributes of the third dimension are absent if they have their defaults.
  const auto at_least_1 = [&](const char* name) { return std::max<int64_t>(1, a.integer(name)); };
  Conv conv;
  conv.w = a.integer("w"), conv.h = a.integer("h"), conv.d = at_least_1("d");
  conv.c = a.integer("c"), conv.n = a.integer("n"), conv.k = a.integer("k");
  conv.s = a.integer("s"), conv.r = a.integer("r"), conv.t = at_least_1("t");
  conv.pad_w = a.integer("pad_w"), conv.pad_h = a.integer("pad_h");
  conv.pad_d = a.integer("pad_d");
  conv.stride_w = a.integer("stride_w"), conv.stride_h = a.integer("stride_h");
  conv.stride_d = at_least_1("stride_d");
  conv.dilation_w = a.integer("dilation_w"), conv.dilation_h = a.integer("dilation_h");
  conv.dilation_d = at_least_1("dilation_d");
  conv.groups = a.integer("groups");
  if (a.text("phase") == "bwd_data") conv.phase = ConvPhase::kBackwardData;
  if (a.text("phase") == "bwd_filter") conv.phase = ConvPhase::kBackwardFilter;
  conv.precision = precision_info(a.text("precision"));
  conv.x_type = conv.precision.a;
  if (conv.precision.precision == Precision::kInt8 && a.text("x_type") == "u8")
    conv.x_type = DEEPBENCH_U8;
  if (conv.precision.precision == Precision::kInt8 && a.text("y_type") == "s8") {
    conv.precision.c = DEEPBENCH_S8;
    conv.shift = output_shift(conv);
  }
  return conv;
}

}  // namespace deepbench
