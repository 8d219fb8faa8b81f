// Builds and executes plans.
#include "ops/conv/cudnn_execution.hpp"

#include <algorithm>

#include "buffer.hpp"
#include "cudnn/graph_execution.hpp"
#include "cudnn/handle.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "launched_kernels.hpp"

namespace deepbench::cuda::dnn {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

namespace {

// Reports an engine that cannot be built as unsupported for this problem. Failures of execution or
// allocation are real errors.
void require_built(cudnnStatus_t status) {
  const int kind = int(status) / 1000;
  if (kind == CUDNN_STATUS_EXECUTION_FAILED / 1000 ||
      status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)
    CUDA_CHECK_STATUS(cudnnBackendFinalize, status);
  if (status != CUDNN_STATUS_SUCCESS) plugin::unsupported(cudnn_reason(status));
}

}  // namespace

ExecutionPlan::ExecutionPlan(std::shared_ptr<const OperationGraph> graph, const Engine& engine,
                             cudnnHandle_t handle)
    : graph_(std::move(graph)), engine_(engine) {
  const plugin::HostTimer timer;
  auto config = graph_->config(engine);
  if (!config) plugin::unsupported("cuDNN does not know this engine");
  config_ = std::move(*config);
  notes_ = config_.notes;
  plan_ = CudnnDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, handle);
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config_.config);
  require_built(plan_.try_finalize());
  const auto bytes = plan_.get_all<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 1);
  if (bytes.empty()) plugin::unsupported("cuDNN does not report the workspace size of the engine");
  workspace_bytes_ = uint64_t(std::max<int64_t>(0, bytes[0]));
  built_ns_ = timer.elapsed_ns();
}

// The library does not note all engines that use Winograd's algorithm or tensor cores, but their
// kernels' names contain it. The graph capture runs no kernel, so the addresses of the operands do
// not matter.
void ExecutionPlan::note_kernels(const Stream& stream) {
  stream.make_current();
  const Buffer placeholder(1 << 12);
  void* const address = placeholder.data();
  const CudnnDescriptor pack = make_variant_pack(address, address, address, address);
  const cudnnHandle_t handle = cudnn_handle(stream);
  const auto names = launched_kernels(
      stream, [&] { CUDA_CHECK_STATUS(cudnnBackendExecute, execute(handle, pack)); });
  notes_.winograd |= any_name_contains(names, "winograd");
  notes_.fft |= any_name_contains(names, "fft");
  notes_.tf32_kernel = any_name_contains(names, "tf32") || any_name_contains(names, "tensorop");
}

CudnnDescriptor ExecutionPlan::make_variant_pack(void* x, void* w, void* y, void* workspace) const {
  return GraphData{{Operation::kX, Operation::kW, Operation::kY}, {x, w, y}, workspace}.describe();
}

cudnnStatus_t ExecutionPlan::execute(cudnnHandle_t handle, const CudnnDescriptor& variants) const {
  return cudnn().cudnnBackendExecute(handle, plan_.get(), variants.get());
}

}  // namespace deepbench::cuda::dnn
