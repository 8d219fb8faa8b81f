// How many multiplications of a direct convolution one multiplication of a transformed one
// replaces, at most: the arithmetic ceiling of a row is that much higher.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepbench/ops/conv/conv.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// Winograd's minimal filtering F(m, r) takes m + r - 1 multiplications for the m r of a direct
// convolution, in each dimension (Lavin and Gray, CVPR 2016). cuDNN's largest tiles have m = 4 for
// filters of up to 3 elements and m = 9 for larger ones.
inline double winograd_factor(const Conv& conv) {
  double factor = 1;
  for (const int64_t r : {conv.r, conv.s, conv.t}) {
    const double m = r <= 3 ? 4 : 9;
    factor *= m * double(r) / (m + double(r) - 1);
  }
  return factor;
}

// A tile of t elements has t / 2 complex products, each of at least three multiplications, for up
// to t outputs of as many products as the filter has elements.
inline double fft_factor(const Conv& conv) {
  return std::max(1.0, double(conv.r) * double(conv.s) * double(conv.t) / 1.5);
}

// Emits transform_factor, if the algorithm is a transform.
inline void describe_transform(const Conv& conv, bool is_winograd, bool is_fft,
                               plugin::Sink& sink) {
  if (is_winograd)
    sink.real("transform_factor", winograd_factor(conv));
  else if (is_fft)
    sink.real("transform_factor", fft_factor(conv));
}

}  // namespace deepbench::cuda
