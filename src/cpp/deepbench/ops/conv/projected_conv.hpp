// What is left of a convolution when its output is summed over its slowest dimension: a convolution
// in which one operand was summed beforehand.
#pragma once

#include <cstdint>

#include "deepbench/ops/conv/conv.hpp"

namespace deepbench {

struct ProjectedConv {
  Conv conv;
  int64_t contracted_elements =
      0;  // elements of the operand that is; 0: nothing is to be summed beforehand
};

inline ProjectedConv projected_conv(const Conv& conv) {
  const bool second = conv.output().second_is_slowest;
  Conv one = conv;
  if (conv.phase == ConvPhase::kBackwardFilter) {
    // One response, or input, for each group.
    (second ? one.c : one.k) = conv.groups;
    if (second) return {one, one.x_size()};
    return {one, conv.group_k() > 1 ? one.y_size() : 0};
  }
  const bool forward = conv.phase == ConvPhase::kForward;
  if (!second) {  // one image
    one.n = 1;
    return {one, forward ? one.x_size() : one.y_size()};
  }
  // One filter that is the sum of all, or of its channels: the other channels are one group then.
  one.groups = 1;
  (forward ? one.k : one.c) = 1;
  return {one, one.w_size()};
}

}  // namespace deepbench
