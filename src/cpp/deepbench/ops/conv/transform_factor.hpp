// The largest number of multiplications of a direct convolution that one multiplication of a
// transformed one replaces. A backend emits it as the fact transform_factor. Header-only, for
// backends.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepbench/ops/conv/conv.hpp"

namespace deepbench {

// Winograd's minimal filtering F(m, r) takes m + r - 1 multiplications in each dimension, where a
// direct convolution takes m r (Lavin and Gray, CVPR 2016). The largest tiles of cuDNN and oneDNN
// have m = 4 for filters of up to 3 elements; those of cuDNN have m = 9 for larger filters.
inline double winograd_factor(const Conv& conv) {
  double factor = 1;
  for (const int64_t r : {conv.r, conv.s, conv.t}) {
    const double m = r <= 3 ? 4 : 9;
    factor *= m * double(r) / (m + double(r) - 1);
  }
  return factor;
}

// A tile of t elements takes t / 2 complex products, each of at least three multiplications. It
// yields up to t outputs, each of which is a sum of as many products as the filter has elements.
inline double fft_factor(const Conv& conv) { return std::max(1.0, double(conv.taps()) / 1.5); }

}  // namespace deepbench
