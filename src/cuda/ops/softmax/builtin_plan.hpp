// The division of a softmax among the blocks and threads of softmax.cu. This is pure arithmetic,
// which is tested without a device.
#pragma once

#include <string>
#include <vector>

#include "deepbench/ops/softmax/softmax.hpp"
#include "kernels/jit.hpp"

namespace deepbench::cuda {

// The ids of the candidates: whether a warp or a block computes a row. The default first.
std::vector<std::string> builtin_softmax_candidates(const Softmax& softmax);

struct BuiltinSoftmaxPlan {
  std::string expression;  // the instance of the kernel
  LaunchShape shape;
};
// Throws plugin::Error (unsupported) for more rows than a grid has blocks for.
BuiltinSoftmaxPlan builtin_softmax_plan(const Softmax& softmax, const std::string& candidate);

}  // namespace deepbench::cuda
