// Building and executing plans.
#include <algorithm>
#include <chrono>

#include "buffer.hpp"
#include "cudnn/handle.hpp"
#include "launched_kernels.hpp"
#include "ops/conv/cudnn_plan.hpp"

namespace deepbench::cuda::dnn {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

std::shared_ptr<const ExecutionPlan> ExecutionPlan::build(
    std::shared_ptr<const OperationGraph> graph, const Engine& engine, const Stream& stream,
    std::string* reason) {
  const auto begin = std::chrono::steady_clock::now();
  auto made = std::make_shared<ExecutionPlan>();
  auto config = graph->config(engine);
  if (!config) {
    *reason = "cuDNN knows no such engine";
    return nullptr;
  }
  made->graph_ = std::move(graph);
  made->engine_ = engine;
  made->config_ = std::move(*config);
  made->notes_ = made->config_.notes;
  made->plan_ = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  made->plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, cudnn_handle(stream));
  made->plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, made->config_.config);
  const cudnnStatus_t status = made->plan_.try_finalize();
  if (status != CUDNN_STATUS_SUCCESS) {
    *reason = cudnn_reason(status);
    return nullptr;
  }
  made->workspace_bytes_ =
      uint64_t(std::max<int64_t>(0, made->plan_.number(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  made->built_ns_ = took.count();
  made->note_kernels(stream);
  return made;
}

// The library does not note all of its engines that use Winograd's algorithm; their kernels' names
// tell. Nothing runs, so that it does not matter what the operands' addresses are.
void ExecutionPlan::note_kernels(const Stream& stream) {
  stream.enter();
  const Buffer nowhere(1 << 12);
  void* const address = nowhere.data();
  const CudnnDescriptor pack = variants(address, address, address, address);
  const cudnnHandle_t handle = cudnn_handle(stream);
  const auto names = launched_kernels(
      stream, [&] { CUDA_CHECK_STATUS(cudnnBackendExecute, execute(handle, pack)); });
  notes_.winograd |= any_contains(names, "winograd");
  notes_.fft |= any_contains(names, "fft");
}

CudnnDescriptor ExecutionPlan::variants(void* x, void* w, void* y, void* workspace) const {
  CudnnDescriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS,
           std::vector<int64_t>{OperationGraph::kX, OperationGraph::kW, OperationGraph::kY});
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, std::vector<void*>{x, w, y});
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, std::vector<void*>{workspace});
  pack.finalize();
  return pack;
}

cudnnStatus_t ExecutionPlan::execute(cudnnHandle_t handle, const CudnnDescriptor& variants) const {
  return cudnn().cudnnBackendExecute(handle, plan_.get(), variants.get());
}

}  // namespace deepbench::cuda::dnn
