// Captures a call to read the names of its kernels.
#include "launched_kernels.hpp"

#include <algorithm>
#include <cctype>

#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

// The name of the node's kernel; "" for other nodes, such as a memset or a copy.
std::string name_of_kernel(nvidia::CUgraphNode node) {
  const nvidia::Driver& cuda = driver();
  nvidia::CUgraphNodeType type{};
  if (cuda.cuGraphNodeGetType(node, &type) != nvidia::CUDA_SUCCESS) return "";
  if (type != nvidia::CU_GRAPH_NODE_TYPE_KERNEL) return "";
  nvidia::CUDA_KERNEL_NODE_PARAMS_v2 launch{};
  if (cuda.cuGraphKernelNodeGetParams_v2(node, &launch) != nvidia::CUDA_SUCCESS) return "";
  const char* name = nullptr;
  const nvidia::CUresult status = launch.func ? cuda.cuFuncGetName(&name, launch.func)
                                              : cuda.cuKernelGetName(&name, launch.kern);
  return status == nvidia::CUDA_SUCCESS && name ? name : "";
}

std::vector<std::string> names_in(nvidia::cudaGraph_t graph) {
  size_t count = 0;
  const nvidia::Driver& cuda = driver();
  if (cuda.cuGraphGetNodes(graph, nullptr, &count) != nvidia::CUDA_SUCCESS) return {};
  std::vector<nvidia::CUgraphNode> nodes(count);
  if (cuda.cuGraphGetNodes(graph, nodes.data(), &count) != nvidia::CUDA_SUCCESS) return {};
  std::vector<std::string> names;
  for (const nvidia::CUgraphNode node : nodes)
    if (std::string name = name_of_kernel(node); !name.empty()) names.push_back(std::move(name));
  return names;
}

}  // namespace

std::vector<std::string> launched_kernels(const Stream& stream,
                                          const std::function<void()>& enqueue) {
  const nvidia::Driver& cuda = driver();
  if (!cuda.cuGraphGetNodes || !cuda.cuGraphNodeGetType || !cuda.cuGraphKernelNodeGetParams_v2 ||
      !cuda.cuFuncGetName || !cuda.cuKernelGetName)
    return {};
  stream.make_current();
  // Relaxed mode, because the call may load kernels.
  CUDA_CHECK(cudart().cudaStreamBeginCapture(stream.get(), nvidia::cudaStreamCaptureModeRelaxed));
  bool captured = true;
  try {
    enqueue();
  } catch (...) {
    captured = false;
  }
  nvidia::cudaGraph_t graph = nullptr;
  const nvidia::cudaError_t status = cudart().cudaStreamEndCapture(stream.get(), &graph);
  if (is_sticky(status)) CUDA_CHECK_STATUS(cudaStreamEndCapture, status);
  cudart().cudaGetLastError();  // clears the error, which the next call would report
  std::vector<std::string> names;
  if (captured && graph) names = names_in(graph);
  if (graph) cudart().cudaGraphDestroy(graph);
  return names;
}

bool any_name_contains(const std::vector<std::string>& names, const std::string& word) {
  return std::any_of(names.begin(), names.end(), [&](std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char letter) { return char(std::tolower(letter)); });
    return name.find(word) != std::string::npos;
  });
}

}  // namespace deepbench::cuda
