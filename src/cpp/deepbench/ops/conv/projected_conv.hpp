// The convolution that remains when the output is summed over its slowest dimension: one of its
// operands has been summed over that dimension beforehand.
#pragma once

#include <cstdint>

#include "deepbench/ops/conv/conv.hpp"

namespace deepbench {

struct ProjectedConv {
  Conv conv;
  int64_t contracted_elements =
      0;  // elements of the summed operand; 0: no operand is summed beforehand
};

inline ProjectedConv projected_conv(const Conv& conv) {
  const bool second = conv.output().second_is_slowest;
  Conv one = conv;
  if (conv.phase == ConvPhase::kBackwardFilter) {
    // One channel of dy, or of x, for each group.
    (second ? one.c : one.k) = conv.groups;
    if (second) return {one, one.x_size()};
    return {one, conv.group_k() > 1 ? one.y_size() : 0};
  }
  const bool forward = conv.phase == ConvPhase::kForward;
  if (!second) {  // one image
    one.n = 1;
    return {one, forward ? one.x_size() : one.y_size()};
  }
  // One filter, the sum of all filters (or of its channels); the other channels then form one
  // group.
  one.groups = 1;
  (forward ? one.k : one.c) = 1;
  return {one, one.w_size()};
}

}  // namespace deepbench
