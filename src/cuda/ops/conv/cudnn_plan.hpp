// cuDNN's plan of a convolution: the layout, the engine, its requirements, and the other
// candidates.
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
  double planning_ns = 0;  // the heuristics query, if there was one, and the building of the plan

  uint64_t workspace_bytes() const { return execution->workspace_bytes(); }
  std::string algorithm() const;  // "nhwc: eng22_k2=18 (winograd)"
};

// Throws plugin::Error: unsupported with the reason, or invalid for an unknown candidate.
ConvPlan plan_conv(const Conv& conv, const std::string& layout, const plugin::Options& options);

// The ids that plan_conv accepts for this problem. All of them can be built and fit the workspace
// limit, except that `exhaustive` also lists larger ones. The library's default comes first, then
// the most promising ids.
std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout,
                                         const plugin::Options& options);

}  // namespace deepbench::cuda::dnn
