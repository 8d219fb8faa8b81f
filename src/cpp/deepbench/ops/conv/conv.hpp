// Two-dimensional convolution (cross-correlation): the typed problem. Header-only.
//
// Input n x c x h x w, filter k x (c/groups) x r x s (s is the filter's width, r its height),
// output n x k x p x q.
#pragma once

#include <cstdint>

#include "deepbench/ops/precision.hpp"

namespace deepbench {

struct Conv {
  int64_t w = 0, h = 0, c = 0, n = 0, k = 0, s = 0, r = 0;
  int64_t pad_w = 0, pad_h = 0, stride_w = 1, stride_h = 1, dilation_w = 1, dilation_h = 1;
  int64_t groups = 1;
  PrecisionInfo precision;

  static int64_t extent(int64_t size, int64_t filter, int64_t pad, int64_t stride,
                        int64_t dilation) {
    const int64_t room = size + 2 * pad - (dilation * (filter - 1) + 1);
    return room < 0 ? 0 : 1 + room / stride;
  }
  int64_t p() const { return extent(h, r, pad_h, stride_h, dilation_h); }  // output height
  int64_t q() const { return extent(w, s, pad_w, stride_w, dilation_w); }  // output width

  // The same useful work for every phase.
  double flops() const {
    return 2.0 * double(n) * double(k) * double(c) * double(r) * double(s) * double(p()) *
           double(q()) / double(groups);
  }
};

template <class Attributes>
Conv conv_problem(const Attributes& a) {
  Conv conv;
  conv.w = a.integer("w"), conv.h = a.integer("h"), conv.c = a.integer("c");
  conv.n = a.integer("n"), conv.k = a.integer("k");
  conv.s = a.integer("s"), conv.r = a.integer("r");
  conv.pad_w = a.integer("pad_w"), conv.pad_h = a.integer("pad_h");
  conv.stride_w = a.integer("stride_w"), conv.stride_h = a.integer("stride_h");
  conv.dilation_w = a.integer("dilation_w"), conv.dilation_h = a.integer("dilation_h");
  conv.groups = a.integer("groups");
  conv.precision = precision_info(a.text("precision"));
  return conv;
}

}  // namespace deepbench
