// The backend for NVIDIA's GPUs, which only defines which library runs which operation.
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "chain.hpp"
#include "deepbench/backend/routing.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "kernels/sources.hpp"
#include "libraries.hpp"
#include "routes.hpp"
#include "sensors.hpp"
#include "stream.hpp"

namespace deepbench::cuda {
namespace {

// The precisions that the original measured, where current libraries have them.
void describe_default_precisions(plugin::Sink& sink) {
  for (const char* const op : {"gemm", "conv", "rnn", "attention"})
    sink.text("default_precision." + std::string(op), "half");
  for (const char* const op : {"gemm", "conv"})
    sink.text("default_precision.inference." + std::string(op), "int8");
}

// The rates that a data-center GPU reaches, within a factor of about two.
void describe_estimates(plugin::Sink& sink) {
  sink.real("estimate.flops_per_s.gemm", 3e14);
  sink.real("estimate.flops_per_s.gemm.float", 5e13);
  sink.real("estimate.flops_per_s.conv", 1.5e14);
  sink.real("estimate.flops_per_s.conv.float", 2.5e13);
  sink.real("estimate.flops_per_s.rnn", 6e13);
  sink.real("estimate.flops_per_s.rnn.float", 1e13);
  sink.real("estimate.flops_per_s.sparse_gemm", 1e12);
  sink.real("estimate.bytes_per_s", 2e12);
  sink.real("estimate.calls", 20);
  sink.real("estimate.verification_s_per_byte", 3e-11);
  // Their references cost the host more for each byte of the operands than products do.
  sink.real("estimate.verification_s_per_byte.attention", 3e-9);
  sink.real("estimate.verification_s_per_byte.lrn", 2e-7);
  sink.real("estimate.verification_s_per_byte.norm", 3e-9);
  sink.real("estimate.collective_verification_s_per_byte", 1.6e-8);
  sink.real("estimate.row_limit_s", 5);
  sink.real("estimate.ceiling_s", 0.3);
}

class CudaBackend final : public plugin::RoutedBackend {
 public:
  static constexpr int32_t kPriority = 100;

  CudaBackend() : RoutedBackend("cuda", {std::begin(kRoutes), std::end(kRoutes)}) {}

  void describe(plugin::Sink& sink) override {
    sink.text("synonyms", "gpu gpus nvidia");
    sink.text("kernel_sources", kernel_folder().string());
    describe_default_precisions(sink);
    describe_estimates(sink);
    plugin::describe_default_libraries(kRoutes, sink);
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

  const void* extension(std::string_view name) override {
    if (name == DEEPBENCH_ENERGY) return plugin::energy_extension<energy_joules>();
    if (name == DEEPBENCH_CHAIN) return plugin::chain_extension<link_kernels>();
    return RoutedBackend::extension(name);
  }

  std::unique_ptr<plugin::Plan> plan(const plugin::Problem& problem,
                                     const plugin::Options& options) override {
    Stream::of(options.device);  // makes the device current; throws for an index without a device
    return RoutedBackend::plan(problem, options);
  }
};

}  // namespace
}  // namespace deepbench::cuda

DEEPBENCH_PLUGIN(deepbench::cuda::CudaBackend, "cuda")
