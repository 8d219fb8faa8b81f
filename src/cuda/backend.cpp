// NVIDIA's GPUs as a backend: which library does which operation, and nothing else.
#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/backend/ranks.hpp"
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

void describe_library(const LibraryReport& library, plugin::Sink& sink) {
  const std::string prefix = "library." + library.name;
  if (library.usable()) {
    sink.text(prefix + ".version", library.version);
    sink.text(prefix + ".path", library.path);
    sink.text(prefix + ".found_by", library.found_by);
  } else {
    sink.text(prefix + ".reason", library.reason);
  }
}

// Options name routes; a library that can be called in two ways has two names, and some are our
// own.
std::vector<LibraryReport> reports_of_other_routes(const std::vector<LibraryReport>& reports) {
  std::vector<LibraryReport> others;
  for (const plugin::Route& route : kRoutes) {
    const auto is_it = [&](const LibraryReport& one) { return one.name == route.library; };
    if (!route.vendor || std::any_of(reports.begin(), reports.end(), is_it)) continue;
    const LibraryFacts facts = route.implementation().library();
    const auto same = std::find_if(reports.begin(), reports.end(), [&](const LibraryReport& one) {
      return one.path == facts.path && one.reason == facts.reason;
    });
    if (same != reports.end())
      others.push_back(*same);
    else  // our own
      others.push_back({"", facts.version, facts.path, "", facts.reason});
    others.back().name = route.library;
  }
  return others;
}

// The precisions that the original measured, where current libraries have them.
void describe_default_precisions(plugin::Sink& sink) {
  for (const char* const op : {"gemm", "conv", "rnn"})
    sink.text("default_precision." + std::string(op), "half");
  for (const char* const op : {"gemm", "conv"})
    sink.text("default_precision.inference." + std::string(op), "int8");
}

// What a data-centre GPU reaches, within a factor of two or so.
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
  sink.real("estimate.collective_verification_s_per_byte", 3e-9);
  sink.real("estimate.row_limit_s", 5);
  sink.real("estimate.ceiling_s", 0.3);
}

class CudaBackend final : public plugin::RoutedBackend {
 public:
  static constexpr int32_t kPriority = 100;

  void describe(plugin::Sink& sink) override {
    describe_default_precisions(sink);
    describe_estimates(sink);
    plugin::describe_default_libraries(kRoutes, sink);
    const std::vector<LibraryReport> reports = all_reports();
    for (const LibraryReport& library : reports) describe_library(library, sink);
    for (const LibraryReport& library : reports_of_other_routes(reports))
      describe_library(library, sink);
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
  void join(const deepbench_group& group) override { plugin::join_ranks(group); }

 private:
  plugin::RouteSelection select_route(const plugin::Problem& problem,
                                      const plugin::Options& options) const override {
    Stream::of(options.device);  // current from here on; throws for an index that is no device
    return {"cuda", kRoutes, problem, options};
  }
};

}  // namespace
}  // namespace deepbench::cuda

DEEPBENCH_PLUGIN(deepbench::cuda::CudaBackend, "cuda")
