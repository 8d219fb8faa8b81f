// The launch of the built-in softmax between the products of attention.
#pragma once

#include <string>

#include "deepbench/ops/attention/attention.hpp"
#include "kernels/attention_softmax.h"
#include "kernels/jit.hpp"

namespace deepbench::cuda {

// The instance of the kernel for a problem and the description of its rows. Arithmetic alone, which
// is tested without a device.
struct SoftmaxPlan {
  explicit SoftmaxPlan(const Attention& attention);

  std::string expression() const;
  LaunchShape shape() const;

  AttentionSoftmax softmax;
  deepbench_type type;
  uint32_t vector;  // elements that a thread loads together
  uint32_t warps;   // of a row
};

}  // namespace deepbench::cuda
