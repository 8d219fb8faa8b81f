// Names the engines that compute the operations, builds them, and calls them.
#include "cudnn/graph_execution.hpp"

#include <algorithm>

#include "cudnn/engine.hpp"
#include "cudnn/handle.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "deepbench/backend/implementation.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr size_t kMaxConfigs = 64, kMaxKnobs = 64;

dnn::Engine engine_of(const CudnnDescriptor& config) {
  dnn::Engine engine;
  const auto engines =
      config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engines.empty()) return engine;
  engine.index = engines[0].number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  for (const CudnnDescriptor& knob : config.descriptors(
           CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kMaxKnobs)) {
    const auto types = knob.get_all<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 1);
    if (!types.empty())
      engine.knobs.emplace_back(types[0], knob.number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return engine;
}

}  // namespace

GraphEngines::GraphEngines(const std::vector<CudnnDescriptor>& operations, std::string what,
                           GraphTarget target)
    : what_(std::move(what)),
      target_(std::move(target)),
      graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const plugin::HostTimer timer;
  if (const auto* const handle = std::get_if<cudnnHandle_t>(&target_))
    graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, *handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  graph_.finalize();
  query_configs();
  if (configs_.empty()) reject();
  query_ns_ = timer.elapsed_ns();
}

void GraphEngines::query_configs() {
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    CudnnDescriptor query(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    query.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
    query.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    if (const auto* const properties = std::get_if<CudnnDescriptor>(&target_))
      query.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties);
    if (const cudnnStatus_t status = query.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
      refusal_ = cudnn_reason(status);
      continue;
    }
    for (CudnnDescriptor& config : query.descriptors(
             CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMaxConfigs))
      add_config(std::move(config));
  }
}

// Both modes may name an engine.
void GraphEngines::add_config(CudnnDescriptor config) {
  const std::string engine = engine_of(config).text();
  for (const Config& known : configs_)
    if (known.engine == engine) return;
  configs_.push_back({engine, std::move(config)});
}

std::vector<std::string> GraphEngines::names(const std::string& first) const {
  std::vector<std::string> names;
  for (const Config& config : configs_)
    names.insert(config.engine == first ? names.begin() : names.end(), config.engine);
  return names;
}

const GraphExecution& GraphEngines::build(const std::string& name) {
  if (!name.empty()) plugin::require_candidate("cudnn", names(), name);
  for (Config& config : configs_)
    if (name.empty() || config.engine == name)
      if (const GraphExecution* const execution = find_or_build(config)) return *execution;
  reject();
}

const GraphExecution* GraphEngines::find_or_build(Config& config) {
  if (const auto known = built_.find(config.engine); known != built_.end()) return &known->second;
  if (!config.refusal.empty()) {
    refusal_ = config.refusal;
    return nullptr;
  }
  const plugin::HostTimer timer;
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (const auto* const handle = std::get_if<cudnnHandle_t>(&target_))
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, *handle);
  else
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, std::get<CudnnDescriptor>(target_));
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config.descriptor);
  if (const cudnnStatus_t status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
    refusal_ = config.refusal = cudnn_reason(status);
    return nullptr;
  }
  const double planning_ns = query_ns_ + timer.elapsed_ns();
  return &built_.try_emplace(config.engine, config.engine, std::move(plan), planning_ns)
              .first->second;
}

void GraphEngines::reject() const {
  plugin::unsupported("cuDNN has no engine for " + what_ + " on this device" +
                      (refusal_.empty() ? "" : ": " + refusal_));
}

GraphExecution::GraphExecution(std::string engine, CudnnDescriptor plan, double planning_ns)
    : engine_(std::move(engine)),
      plan_(std::move(plan)),
      workspace_bytes_(
          uint64_t(std::max<int64_t>(0, plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)))),
      planning_ns_(planning_ns) {}

cudnnStatus_t GraphExecution::execute(cudnnHandle_t handle, const CudnnDescriptor& pack) const {
  return cudnn().cudnnBackendExecute(handle, plan_.get(), pack.get());
}

CudnnDescriptor GraphData::describe() const {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers);
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::vector<void*>{workspace});
  pack.finalize();
  return pack;
}

GraphCall::GraphCall(const GraphExecution& execution, const Stream& stream)
    : execution_(execution), handle_(cudnn_handle(stream)) {}

void GraphCall::enqueue(uint64_t copy) {
  CUDA_CHECK_STATUS(cudnnBackendExecute, execution_.execute(handle_, packs_[copy]));
}

}  // namespace deepbench::cuda
