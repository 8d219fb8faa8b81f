// Caches plans by layout, device and engine.
#include "ops/conv/cudnn_plan_cache.hpp"

#include <exception>

#include "cudnn/handle.hpp"
#include "memo_cache.hpp"
#include "parallel_for.hpp"

namespace deepbench::cuda::dnn {
namespace {

constexpr size_t kMaxPlans = 1024;

MemoCache<PlanOrReason, kMaxPlans>& plans() {
  static auto* cache = new MemoCache<PlanOrReason, kMaxPlans>();
  return *cache;
}

std::string key_of(const ConvLayout& layout, const Engine& engine, const Stream& stream) {
  return layout.key(stream.device()) + " " + engine.text();
}

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

// An engine that cannot be built or described is unsupported for this problem; the reason is
// cached.
PlanOrReason cached_plan(const ConvLayout& layout,
                         const std::shared_ptr<const OperationGraph>& graph, const Engine& engine,
                         const Stream& stream) {
  return plans().get(key_of(layout, engine, stream), [&]() -> PlanOrReason {
    try {
      return with_kernels_noted(
          std::make_shared<ExecutionPlan>(graph, engine, cudnn_handle(stream)), stream);
    } catch (const plugin::Error& error) {
      if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
      return {nullptr, error.what()};
    }
  });
}

void prebuild_plans(const ConvLayout& layout, const std::vector<Engine>& engines,
                    const Stream& stream) {
  std::vector<Engine> missing;
  for (const Engine& engine : engines)
    if (!plans().has(key_of(layout, engine, stream))) missing.push_back(engine);
  std::vector<std::shared_ptr<ExecutionPlan>> made(missing.size());
  parallel_for(missing.size(), [&](size_t i, size_t worker) {
    try {
      made[i] = build_plan(worker, layout, missing[i], stream);
    } catch (const std::exception&) {  // cached_plan() tries again and records the reason
    }
  });
  for (size_t i = 0; i < missing.size(); ++i) {
    if (!made[i]) continue;
    try {
      plans().get(key_of(layout, missing[i], stream),
                  [&] { return with_kernels_noted(made[i], stream); });
    } catch (const std::exception&) {  // the error occurs again when the plan is requested
    }
  }
}

}  // namespace deepbench::cuda::dnn
