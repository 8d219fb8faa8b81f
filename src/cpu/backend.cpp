// The CPU as a backend: which library does which operation, and nothing else.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "environment.hpp"
#include "implementation.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

struct Route {
  std::string_view op;
  std::string_view library;
  bool vendor;  // somebody else's, which may be absent
  Implementation& (*implementation)();
};

// In order of preference within an operation.
constexpr std::array<Route, 4> kRoutes = {{
    {"gemm", "onednn", true, onednn_gemm},
    {"gemm", "openblas", true, openblas_gemm},
    {"gemm", "mkl", true, mkl_gemm},
    {"memory", "threads", false, threads_memory},
}};

// The library that was asked for, or the first that can be used and does the problem; where none
// does, the first usable one's reason.
class Choice {
 public:
  Choice(const plugin::Problem& problem, const plugin::Options& options)
      : problem_(problem), options_(options) {
    if (options.device != 0)
      plugin::invalid("device " + std::to_string(options.device) + ": the CPU is device 0");
    if (!options.library.empty())
      choose_named();
    else
      choose_first();
  }

  Implementation* operator->() const { return chosen_; }

 private:
  void choose_named() {
    bool known = false;
    std::string all, of_op;  // names, for the message
    for (const Route& route : kRoutes) {
      const std::string name(route.library);
      all += " " + name;
      known = known || name == options_.library;
      if (route.op != problem_.op()) continue;
      of_op += " " + name;
      if (name == options_.library) chosen_ = &route.implementation();
    }
    if (!known) plugin::invalid("library=" + options_.library + ": the CPU backend has" + all);
    if (!chosen_)
      plugin::unsupported(options_.library + " does not do " + problem_.op() + " here; there is" +
                          (of_op.empty() ? " none that does" : of_op));
    if (const LibraryFacts facts = chosen_->library(); !facts.usable())
      plugin::unsupported(options_.library + ": " + facts.reason);
    chosen_->supports(problem_, options_);
  }

  void choose_first() {
    std::string absent, refusal;
    for (const Route& route : kRoutes) {
      if (route.op != problem_.op()) continue;
      Implementation& candidate = route.implementation();
      if (const LibraryFacts facts = candidate.library(); !facts.usable()) {
        absent += (absent.empty() ? "" : "; ") + std::string(route.library) + ": " + facts.reason;
      } else if (refuses(candidate, &refusal)) {
        continue;
      } else {
        chosen_ = &candidate;
        return;
      }
    }
    if (!refusal.empty()) plugin::unsupported(refusal);
    if (!absent.empty()) plugin::unsupported("no library for " + problem_.op() + ": " + absent);
    plugin::unsupported("the CPU backend does not do " + problem_.op());
  }

  // Keeps the first reason. Anything but "unsupported" is not a matter of the library.
  bool refuses(Implementation& candidate, std::string* reason) {
    try {
      candidate.supports(problem_, options_);
      return false;
    } catch (const plugin::Error& error) {
      if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
      if (reason->empty()) *reason = error.what();
      return true;
    }
  }

  const plugin::Problem& problem_;
  const plugin::Options& options_;
  Implementation* chosen_ = nullptr;
};

class CpuBackend final : public plugin::Backend {
 public:
  // Before any library is loaded: OpenMP may narrow the mask that topology() reads.
  CpuBackend() { topology(); }

  void describe(plugin::Sink& sink) override {
    for (const Route& route : kRoutes) {
      if (!route.vendor) continue;
      const std::string prefix = "library." + std::string(route.library);
      const LibraryFacts facts = route.implementation().library();
      if (facts.usable()) {
        sink.text(prefix + ".version", facts.version);
        sink.text(prefix + ".path", facts.path);
      } else {
        sink.text(prefix + ".reason", facts.reason);
      }
    }
  }

  int32_t device_count() override { return 1; }

  void describe_device(int32_t device, plugin::Sink& sink) override {
    if (device != 0) plugin::invalid("device " + std::to_string(device) + ": the CPU is device 0");
    describe_processor(thread_count(0), sink);
  }

  void environment(const plugin::Options& options, plugin::Sink& sink) override {
    for (const auto& [name, value] :
         library_environment(thread_count(options.threads), topology(), isa()))
      sink.text(name, value);
  }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    Choice(problem, options);
  }
  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    return Choice(problem, options)->memory_needed(problem, options);
  }
  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    return Choice(problem, options)->candidates(problem, options);
  }
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    return Choice(problem, options)->prepare(problem, options);
  }
};

}  // namespace
}  // namespace deepbench::cpu

DEEPBENCH_PLUGIN(deepbench::cpu::CpuBackend, "cpu")
