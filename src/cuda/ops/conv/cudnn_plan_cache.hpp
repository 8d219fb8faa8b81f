// A cache of built plans, and a function that builds several plans in advance.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/conv/cudnn_execution.hpp"

namespace deepbench::cuda::dnn {

// A plan, or the reason why there is none.
struct PlanOrReason {
  std::shared_ptr<const ExecutionPlan> plan;
  std::string reason;
};

// `graph` must describe `layout` on the stream's device. Throws plugin::Error for failures that the
// engine does not cause.
PlanOrReason cached_plan(const ConvLayout& layout,
                         const std::shared_ptr<const OperationGraph>& graph, const Engine& engine,
                         const Stream& stream);

// Builds the plans that are not cached yet, several at once, because engines that compile at run
// time take tenths of a second each. If a build fails, cached_plan() repeats it later and reports
// the reason.
void prebuild_plans(const ConvLayout& layout, const std::vector<Engine>& engines,
                    const Stream& stream);

}  // namespace deepbench::cuda::dnn
