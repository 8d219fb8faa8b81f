// The launches of the built-in softmax between the products of attention, and of its gradient.
#pragma once

#include <string>

#include "deepbench/ops/attention/attention.hpp"
#include "kernels/attention_softmax.h"
#include "kernels/jit.hpp"

namespace deepbench::cuda {

// The instance of the kernel for a problem and the description of its rows. This is pure
// arithmetic, which is tested without a device.
struct SoftmaxPlan {
  explicit SoftmaxPlan(const Attention& attention);

  std::string expression() const;
  std::string gradient_expression() const;
  LaunchShape shape() const;  // for both kernels
  // The instance of the kernel that adds up the gradients of sinks.
  std::string sink_expression() const;
  LaunchShape sink_shape() const;

  AttentionSoftmax softmax;
  deepbench_type type;
  uint32_t vector;  // elements that a thread loads together
  uint32_t warps;   // warps per row

 private:
  std::string instance_of(const std::string& kernel) const;
};

}  // namespace deepbench::cuda
