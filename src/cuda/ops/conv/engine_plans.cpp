// Builds plans and keeps them by layout and engine.
#include "ops/conv/engine_plans.hpp"

#include <exception>

#include "cudnn/handle.hpp"
#include "deepbench/backend/parallel_for.hpp"

namespace deepbench::cuda::dnn {
namespace {

PlanOrReason with_kernels_noted(const std::shared_ptr<ExecutionPlan>& plan, const Stream& stream) {
  plan->note_kernels(stream);
  return {plan, ""};
}

std::shared_ptr<ExecutionPlan> build_plan(size_t worker, const ConvLayout& layout,
                                          const Engine& engine, const Stream& stream) {
  stream.make_current();
  const nvidia::cudnnHandle_t handle = cudnn_handle(stream, worker);
  return std::make_shared<ExecutionPlan>(std::make_shared<OperationGraph>(layout, handle), engine,
                                         handle);
}

}  // namespace

// An engine that cannot be built or described is unsupported for this problem; the reason is kept.
const PlanOrReason& EnginePlans::get(const ConvLayout& layout,
                                     const std::shared_ptr<const OperationGraph>& graph,
                                     const Engine& engine) {
  const Key key = key_of(layout, engine);
  if (const auto known = plans_.find(key); known != plans_.end()) return known->second;
  PlanOrReason built;
  try {
    built = with_kernels_noted(
        std::make_shared<ExecutionPlan>(graph, engine, cudnn_handle(stream_)), stream_);
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    built.reason = error.what();
  }
  return plans_[key] = built;
}

void EnginePlans::prebuild(const ConvLayout& layout, const std::vector<Engine>& engines) {
  std::vector<Engine> missing;
  for (const Engine& engine : engines)
    if (!plans_.count(key_of(layout, engine))) missing.push_back(engine);
  std::vector<std::shared_ptr<ExecutionPlan>> made(missing.size());
  plugin::parallel_for(missing.size(), [&](size_t i, size_t worker) {
    try {
      made[i] = build_plan(worker, layout, missing[i], stream_);
    } catch (const std::exception&) {  // get() tries again and records the reason
    }
  });
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!made[i]) continue;
    try {
      plans_[key_of(layout, missing[i])] = with_kernels_noted(made[i], stream_);
    } catch (const std::exception&) {  // the error occurs again when the plan is requested
    }
  }
}

}  // namespace deepbench::cuda::dnn
