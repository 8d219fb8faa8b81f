// NVIDIA's GPUs as a backend: which library runs which operation, and nothing else.
#include <iterator>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "implementation.hpp"
#include "libraries.hpp"
#include "sensors.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

// In order of preference within an operation.
constexpr plugin::Route kRoutes[] = {
    {"gemm", "cublaslt", true, cublaslt_gemm, true},
    {"gemm", "cublas", true, cublas_gemm},
    {"gemm", "skinny", true, skinny_gemm, true},
    {"gemm", "skinny_mma", true, skinny_mma_gemm, true},
    {"conv", "cudnn", true, cudnn_conv},
    {"conv", "cudnn_legacy", true, cudnn_legacy_conv},
    {"rnn", "cudnn", true, cudnn_rnn, true},
    {"rnn", "persistent", true, persistent_rnn, true},
    {"rnn", "reference", false, reference_rnn},
    {"memory", "runtime", true, runtime_memory},
    {"sparse_gemm", "cusparse", true, cusparse_sparse_gemm},
    {"all_reduce", "nccl", true, nccl_all_reduce, true},
    {"all_reduce", "nccl_single", true, nccl_single_all_reduce, true},
    {"all_reduce", "peer", true, peer_all_reduce, true},
};

class CudaBackend final : public plugin::RoutedBackend {
 public:
  CudaBackend() : RoutedBackend("cuda", {std::begin(kRoutes), std::end(kRoutes)}) {}

  void describe(plugin::Sink& sink) override {
    std::vector<std::string> described;
    for (const LibraryReport& library : all_reports()) {
      library.describe(library.name, sink);
      described.push_back(library.name);
    }
    describe_libraries(sink, described);  // routes whose names differ from their libraries
    int number = 0;
    for (const std::string& text : mixed_major_warnings())
      sink.text("warning.libraries" + std::to_string(number++), text);
  }

  int32_t device_count() override { return cuda::device_count(); }
  void describe_device(int32_t device, plugin::Sink& sink) override {
    cuda::describe_device(device, sink);
  }
  void observe(int32_t device, plugin::Sink& sink) override { cuda::observe(device, sink); }

  double energy_joules(int32_t device) override { return cuda::energy_joules(device); }

 private:
  plugin::RouteSelection select_route(const plugin::Problem& problem,
                                      const plugin::Options& options) const override {
    Stream::of(options.device);  // makes the device current; throws for an index without a device
    return route(problem, options);
  }
};

}  // namespace
}  // namespace deepbench::cuda

DEEPBENCH_PLUGIN(deepbench::cuda::CudaBackend, "cuda")
