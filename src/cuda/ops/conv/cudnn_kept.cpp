// Plans by the layout, the device and the engine.
#include "ops/conv/cudnn_kept.hpp"

#include <exception>
#include <future>

#include "cudnn/handle.hpp"
#include "kept.hpp"
#include "several.hpp"

namespace deepbench::cuda::dnn {
namespace {

constexpr size_t kMostPlans = 1024;

Kept<Built, kMostPlans>& plans() {
  static auto* kept = new Kept<Built, kMostPlans>();
  return *kept;
}

std::string key_of(const ConvLayout& layout, const Engine& engine, const Stream& stream) {
  return layout.key(stream.device()) + " " + engine.text();
}

// The plan that make() gives, with its kernels noted. An engine that cannot be built, or called, is
// none of this problem's.
template <class Make>
Built noted(Make make, const Stream& stream) {
  try {
    std::shared_ptr<ExecutionPlan> plan = make();
    plan->note_kernels(stream);
    return {plan, ""};
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    return {nullptr, error.what()};
  }
}

std::shared_ptr<ExecutionPlan> made_by(size_t worker, const ConvLayout& layout,
                                       const Engine& engine, const Stream& stream) {
  stream.enter();
  const nvidia::cudnnHandle_t handle = cudnn_handle(stream, worker);
  return std::make_shared<ExecutionPlan>(std::make_shared<OperationGraph>(layout, handle), engine,
                                         handle);
}

}  // namespace

Built built_plan(const ConvLayout& layout, const std::shared_ptr<const OperationGraph>& graph,
                 const Engine& engine, const Stream& stream) {
  return plans().get(key_of(layout, engine, stream), [&] {
    const auto make = [&] {
      return std::make_shared<ExecutionPlan>(graph, engine, cudnn_handle(stream));
    };
    return noted(make, stream);
  });
}

void build_ahead(const ConvLayout& layout, const std::vector<Engine>& engines,
                 const Stream& stream) {
  std::vector<Engine> missing;
  for (const Engine& engine : engines)
    if (!plans().has(key_of(layout, engine, stream))) missing.push_back(engine);
  std::vector<std::future<std::shared_ptr<ExecutionPlan>>> made(missing.size());
  do_several(missing.size(), [&](size_t at, size_t worker) {
    std::promise<std::shared_ptr<ExecutionPlan>> one;
    made[at] = one.get_future();
    try {
      one.set_value(made_by(worker, layout, missing[at], stream));
    } catch (...) {
      one.set_exception(std::current_exception());
    }
  });
  for (size_t at = 0; at < missing.size(); ++at) try {
      plans().get(key_of(layout, missing[at], stream),
                  [&] { return noted([&] { return made[at].get(); }, stream); });
    } catch (const plugin::Error&) {  // it is met again where the plan is asked for
    }
}

}  // namespace deepbench::cuda::dnn
