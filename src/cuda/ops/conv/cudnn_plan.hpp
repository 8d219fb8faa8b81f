// A convolution as cuDNN plans it: which layout, which engine, what it needs, and which others
// there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "ops/conv/cudnn_execution.hpp"

namespace deepbench::cuda::dnn {

struct ConvPlan {
  ConvLayout layout;
  std::shared_ptr<const ExecutionPlan> execution;
  double planning_ns = 0;  // the heuristics' answer, where it was asked, and building

  uint64_t workspace_bytes() const { return execution->workspace_bytes(); }
  std::string algorithm() const;  // "nhwc: eng22_k2=18 (winograd)"
};

// Throws plugin::Error: unsupported with the reason, or invalid for an unknown candidate.
ConvPlan plan_conv(const Conv& conv, const std::string& layout, const plugin::Options& options);

// Ids that plan_conv takes for this problem, all of which can be built and fit the workspace's
// limit: the library's default first, then by promise.
std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout,
                                         const plugin::Options& options);

}  // namespace deepbench::cuda::dnn
