// Plans that were built, kept; and building several before they are asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/conv/cudnn_execution.hpp"

namespace deepbench::cuda::dnn {

// A plan, or why there is none.
struct PlanOrReason {
  std::shared_ptr<const ExecutionPlan> plan;
  std::string reason;
};

// `graph` is of `layout` on the stream's device. Throws plugin::Error for what is no engine's
// fault.
PlanOrReason cached_plan(const ConvLayout& layout,
                         const std::shared_ptr<const OperationGraph>& graph, const Engine& engine,
                         const Stream& stream);

// Builds those of `engines` that are not kept yet, several at once: engines that are compiled at
// run time take tenths of seconds each. What fails here cached_plan() builds again, alone, and
// tells.
void prebuild_plans(const ConvLayout& layout, const std::vector<Engine>& engines,
                    const Stream& stream);

}  // namespace deepbench::cuda::dnn
