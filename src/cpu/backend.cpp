// The CPU as a backend: which library runs which operation, and nothing else.
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "chain.hpp"
#include "deepbench/backend/routing.hpp"
#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "energy.hpp"
#include "environment.hpp"
#include "isa.hpp"
#include "routes.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

// The rates that one thread of a server's processor reaches, within a factor of about two.
void describe_estimates(plugin::Sink& sink) {
  sink.integer("estimate.per_thread", 1);
  sink.real("estimate.flops_per_s.gemm", 5e10);
  sink.real("estimate.flops_per_s.conv", 3e10);
  sink.real("estimate.flops_per_s.rnn", 1.5e10);
  sink.real("estimate.flops_per_s.sparse_gemm", 2e9);
  sink.real("estimate.bytes_per_s", 2.5e9);
  sink.real("estimate.calls", 8);
  sink.real("estimate.verification_s_per_byte", 1e-9);
  sink.real("estimate.collective_verification_s_per_byte", 1.15e-8);
  sink.real("estimate.row_limit_s", 10);
  sink.real("estimate.ceiling_s", 1);
}

void require_device(int32_t device) {
  if (device != 0) plugin::invalid("device " + std::to_string(device) + ": the CPU is device 0");
}

double energy_joules(int32_t device) {
  require_device(device);
  return machine_energy().joules();
}

class CpuBackend final : public plugin::RoutedBackend {
 public:
  static constexpr int32_t kPriority = 10;

  // Reads the topology before any library is loaded: OpenMP may narrow the mask of this thread.
  CpuBackend() : RoutedBackend("cpu", {std::begin(kRoutes), std::end(kRoutes)}) { topology(); }

  void describe(plugin::Sink& sink) override {
    sink.text("synonyms", "host x86");
    describe_libraries(sink);
    sink.text("joint_phase.rnn", "bwd");  // oneDNN computes both gradients in one call
    // For a vector, or for few columns of a transposed A, oneDNN's matmul has kernels that take up
    // to three times as long as its sgemm.
    sink.text("baseline_candidate.gemm", "sgemm");
    describe_estimates(sink);
    plugin::describe_default_libraries(kRoutes, sink);
  }

  int32_t device_count() override { return 1; }

  void describe_device(int32_t device, plugin::Sink& sink) override {
    require_device(device);
    describe_processor(thread_count(0), sink);
    if (has_limited_threads_)
      sink.text("warning.thread_limit",
                "more threads are asked for than may run here (OMP_NUM_THREADS, --threads): " +
                    std::to_string(thread_count(0)) + " are used");
  }

  // The host keeps the user's OMP_NUM_THREADS unless it is too large or the run requests another
  // number.
  void environment(const plugin::Options& options, plugin::Sink& sink) override {
    const int threads = thread_count(options.threads);
    const bool is_too_large = requested_threads(options.threads) > threads;
    if (options.threads > 0 || is_too_large)
      setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
    has_limited_threads_ |= is_too_large;
    for (const auto& [name, value] : library_environment(threads, topology(), isa()))
      sink.text(name, value);
  }

  const void* extension(std::string_view name) override {
    if (name == DEEPBENCH_ENERGY) return plugin::energy_extension<energy_joules>();
    if (name == DEEPBENCH_CHAIN) return plugin::chain_extension<link_kernels>();
    return RoutedBackend::extension(name);
  }

  std::unique_ptr<plugin::Plan> plan(const plugin::Problem& problem,
                                     const plugin::Options& options) override {
    require_device(options.device);
    try {
      return RoutedBackend::plan(problem, options);
    } catch (const plugin::Error& error) {
      if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
      plugin::unsupported(error.what() + precisions_instead(problem, options));
    }
  }

 private:
  bool has_limited_threads_ = false;

  // Names the other precisions for which this processor has instructions. For int8 it names none,
  // because the precision is seldom the reason why such a problem is unsupported, and no other
  // precision has its attributes.
  std::string precisions_instead(const plugin::Problem& problem, const plugin::Options& options) {
    const std::string precision = problem.text("precision");
    if (precision == "int8" || precision == "float") return "";
    std::vector<const char*> others;
    if (isa().avx512_bf16 || isa().amx_bf16) others.push_back("bfloat16");
    if (isa().avx512_fp16) others.push_back("half");
    others.push_back("float");
    return plugin::plannable_precisions(problem, others, [&](const plugin::Problem& other) {
      return RoutedBackend::plan(other, options);
    });
  }
};

}  // namespace
}  // namespace deepbench::cpu

DEEPBENCH_PLUGIN(deepbench::cpu::CpuBackend, "cpu")
