// Pooling of images in windows: the typed problem. Header-only, for the core and for backends.
//
// x is n x c x h x w and y n x c x p x q. A window has r x s places, of which those outside the
// image count neither for a maximum nor for an average. The gradient of an average is shared by the
// places that it was made of; that of a maximum goes to one place where the maximum is.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepbench/core/precision.hpp"

namespace deepbench {

struct Pool {
  int64_t n = 0, c = 0, h = 0, w = 0, r = 0, s = 0;
  int64_t pad_h = 0, pad_w = 0, stride_h = 1, stride_w = 1;
  bool is_average = false, is_backward = false;
  PrecisionInfo precision;

  // fill.h streams of the operands.
  static constexpr uint32_t kStreamX = 0, kStreamDy = 1;

  static int64_t output_extent(int64_t size, int64_t window, int64_t pad, int64_t stride) {
    const int64_t room = size + 2 * pad - window;
    return room < 0 ? 0 : 1 + room / stride;
  }
  int64_t p() const { return output_extent(h, r, pad_h, stride_h); }  // output height
  int64_t q() const { return output_extent(w, s, pad_w, stride_w); }  // output width

  deepbench_type type() const { return precision.a; }
  int64_t planes() const { return n * c; }
  int64_t x_plane() const { return h * w; }
  int64_t y_plane() const { return p() * q(); }
  int64_t x_size() const { return planes() * x_plane(); }
  int64_t y_size() const { return planes() * y_plane(); }
  int64_t output_plane() const { return is_backward ? x_plane() : y_plane(); }

  // Information about the places of the maxima is not counted: libraries store indices, or read x
  // and y again.
  double traffic() const { return (double(x_size()) + double(y_size())) * double(size_of(type())); }

  // The part of a window within the image, along one dimension: [begin, end).
  struct Span {
    int64_t begin, end;
    int64_t size() const { return end - begin; }
  };
  static Span span(int64_t output, int64_t size, int64_t window, int64_t pad, int64_t stride) {
    const int64_t first = output * stride - pad;
    return {std::max<int64_t>(0, first), std::min(size, first + window)};
  }
  Span rows_of(int64_t output_row) const { return span(output_row, h, r, pad_h, stride_h); }
  Span columns_of(int64_t output_column) const {
    return span(output_column, w, s, pad_w, stride_w);
  }
};

// Reads the problem from any type with integer(name) and text(name): the core's Problem or the
// plugin's attributes.
template <class Attributes>
Pool pool_problem(const Attributes& a) {
  Pool pool;
  pool.n = a.integer("n"), pool.c = a.integer("c");
  pool.h = a.integer("h"), pool.w = a.integer("w");
  pool.r = a.integer("r"), pool.s = a.integer("s");
  pool.pad_h = a.integer("pad_h"), pool.pad_w = a.integer("pad_w");
  pool.stride_h = a.integer("stride_h"), pool.stride_w = a.integer("stride_w");
  pool.is_average = a.text("kind") == "average";
  pool.is_backward = a.text("phase") == "bwd";
  pool.precision = precision_info(a.text("precision"));
  return pool;
}

}  // namespace deepbench
