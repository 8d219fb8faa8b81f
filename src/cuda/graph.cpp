// Captures and launches graphs.
#include "graph.hpp"

#include "deepbench/plugin.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

// Ends the capture in any case. Returns nullptr if the capture is invalid.
nvidia::cudaGraph_t end_capture(nvidia::cudaStream_t stream) {
  nvidia::cudaGraph_t graph = nullptr;
  const nvidia::cudaError_t status = cudart().cudaStreamEndCapture(stream, &graph);
  if (is_sticky(status)) CUDA_CHECK_STATUS(cudaStreamEndCapture, status);
  cudart().cudaGetLastError();  // clears the error, which the next call would report
  return status == nvidia::cudaSuccess ? graph : nullptr;
}

}  // namespace

Graph::Graph(nvidia::cudaStream_t stream, const std::function<void()>& enqueue) {
  CUDA_CHECK(cudart().cudaStreamBeginCapture(stream, nvidia::cudaStreamCaptureModeThreadLocal));
  std::string reason;
  try {
    enqueue();
  } catch (const plugin::Error& error) {
    if (error.status() == DEEPBENCH_DEVICE_LOST) {
      end_capture(stream);
      throw;
    }
    reason = error.what();
  } catch (...) {  // everything shares the stream: it must leave capture mode
    end_capture(stream);
    throw;
  }
  graph_ = end_capture(stream);
  if (graph_ && reason.empty()) {
    const nvidia::cudaError_t status =
        cudart().cudaGraphInstantiateWithFlags(&executable_, graph_, 0);
    if (is_sticky(status)) CUDA_CHECK_STATUS(cudaGraphInstantiate, status);
    if (status == nvidia::cudaSuccess) {
      cudart().cudaGraphUpload(executable_, stream);  // a failure shows when the graph is launched
      return;
    }
    cudart().cudaGetLastError();
    reason = cudart().cudaGetErrorString(status);
  }
  if (graph_) cudart().cudaGraphDestroy(graph_);
  throw CaptureFailed(reason.empty() ? "the calls cannot be captured" : reason);
}

Graph::~Graph() {
  cudart().cudaGraphExecDestroy(executable_);
  cudart().cudaGraphDestroy(graph_);
}

void Graph::launch(nvidia::cudaStream_t stream) const {
  CUDA_CHECK(cudart().cudaGraphLaunch(executable_, stream));
}

}  // namespace deepbench::cuda
