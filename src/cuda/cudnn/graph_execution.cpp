// Builds the plan of an engine that computes the operations, and calls it.
#include "cudnn/graph_execution.hpp"

#include <algorithm>

#include "cudnn/engine.hpp"
#include "cudnn/handle.hpp"
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

GraphExecution::GraphExecution(const std::vector<CudnnDescriptor>& operations,
                               const std::string& what, const std::string& engine,
                               const Stream& stream)
    : graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  const cudnnHandle_t handle = cudnn_handle(stream);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations);
  graph_.finalize();
  query_configs();
  if (!engine.empty() && !configs_.empty()) plugin::require_candidate("cudnn", engines(), engine);
  for (const CudnnDescriptor& config : configs_)
    if ((engine.empty() || engine_of(config).text() == engine) && try_build(config, handle)) return;
  plugin::unsupported("cuDNN has no engine for " + what + " on this device" +
                      (refusal_.empty() ? "" : ": " + refusal_));
}

void GraphExecution::query_configs() {
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    CudnnDescriptor query(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    query.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
    query.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
    if (const cudnnStatus_t status = query.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
      refusal_ = cudnn_reason(status);
      continue;
    }
    for (CudnnDescriptor& config : query.descriptors(
             CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMaxConfigs))
      configs_.push_back(std::move(config));
  }
}

bool GraphExecution::try_build(const CudnnDescriptor& config, cudnnHandle_t handle) {
  CudnnDescriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
  if (const cudnnStatus_t status = plan.try_finalize(); status != CUDNN_STATUS_SUCCESS) {
    refusal_ = cudnn_reason(status);
    return false;
  }
  workspace_bytes_ =
      uint64_t(std::max<int64_t>(0, plan.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
  plan_ = std::move(plan);
  engine_ = engine_of(config).text();
  return true;
}

std::vector<std::string> GraphExecution::engines() const {
  std::vector<std::string> names;
  for (const CudnnDescriptor& config : configs_) {
    const std::string name = engine_of(config).text();
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

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
