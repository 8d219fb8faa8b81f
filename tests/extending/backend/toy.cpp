// A backend of one file: gemm in tf32 by three loops. It shows what the host asks of a backend
// besides kernels: a priority for `auto`, a default precision, a default library, synonyms and
// rates for the estimate of the time left. With the CMakeLists.txt beside it, it is a folder of the
// source tree; outside the tree it needs only the headers that the package installs:
//
//   g++ -O2 -std=c++17 -shared -fPIC -I INCLUDE toy.cpp -o libdeepbench_toy.so
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/backend/host_fill.hpp"
#include "deepbench/backend/host_projection.hpp"
#include "deepbench/backend/host_scan.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/output_checks.hpp"
#include "deepbench/fill.h"
#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/plugin.hpp"

namespace toy {
namespace {

using deepbench::Gemm;
namespace plugin = deepbench::plugin;

constexpr double kMaxProducts = 1 << 27;  // a call then takes about a tenth of a second

// The elements of one operand, filled as verification expects.
std::vector<float> filled(int64_t count, const plugin::Options& options, uint32_t stream) {
  plugin::CallingThread caller;
  std::vector<float> operand(size_t(count), 0.0f);
  plugin::fill(caller, operand.data(), DEEPBENCH_F32, operand.size(),
               plugin::parse_inputs(options.inputs), options.seed, stream);
  return operand;
}

class Product final : public plugin::Kernel {
 public:
  Product(const Gemm& gemm, const plugin::Options& options)
      : gemm_(gemm),
        a_(filled(gemm.m * gemm.k, options, Gemm::kStreamA)),
        b_(filled(gemm.k * gemm.n, options, Gemm::kStreamB)),
        c_(filled(gemm.m * gemm.n, options, Gemm::kStreamC)),
        out_(c_.size()) {}

  void describe(plugin::Sink&) const override {}  // the plan has said everything

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    const plugin::HostTimer timer;
    for (uint64_t i = 0; i < request.count; ++i) call();
    batch.elapsed_ns = batch.host_ns = timer.elapsed_ns();
    batch.count = request.count;
    batch.copies_touched = 1;
    batch.launch = DEEPBENCH_LAUNCH_STREAM;
    batch.timer = "steady_clock";
  }

  void poison_outputs() override {
    plugin::poison(caller_, out_.data(), DEEPBENCH_F32, out_.size());
  }

  void read_output(uint32_t, const uint64_t* indices, size_t count, double* values) override {
    for (size_t i = 0; i < count; ++i) {
      plugin::require_element(indices[i], out_.size());
      values[i] = out_[indices[i]];
    }
  }

  void scan_output(uint32_t, deepbench_scan& scan) override {
    const deepbench_scan found = plugin::scan(caller_, out_.data(), DEEPBENCH_F32, out_.size());
    scan.count = found.count;
    scan.untouched = found.untouched;
    scan.non_finite = found.non_finite;
  }

  void project_output(uint32_t, uint64_t rows, uint64_t seed, double* sums) override {
    plugin::project(caller_, out_.data(), DEEPBENCH_F32, out_.size(), rows, seed, sums);
  }

 private:
  void call() {
    for (int64_t j = 0; j < gemm_.n; ++j)
      for (int64_t i = 0; i < gemm_.m; ++i) {
        float sum = 0;
        for (int64_t l = 0; l < gemm_.k; ++l)
          sum += a_[gemm_.index_a(i, l)] * b_[gemm_.index_b(l, j)];
        out_[size_t(i + j * gemm_.m)] = sum + c_[size_t(i + j * gemm_.m)];
      }
  }

  const Gemm gemm_;
  const std::vector<float> a_, b_, c_;
  std::vector<float> out_;
  plugin::CallingThread caller_;  // fills and checks operands without further threads
};

class ProductPlan final : public plugin::Plan {
 public:
  ProductPlan(const Gemm& gemm, const plugin::Options& options) : gemm_(gemm), options_(options) {}

  void describe(plugin::Sink& sink) const override {
    const int64_t elements = gemm_.m * gemm_.k + gemm_.k * gemm_.n + 2 * gemm_.m * gemm_.n;
    sink.text("library", "loops");
    sink.text("algorithm", "three loops");
    sink.integer("memory_bytes", elements * int64_t(sizeof(float)));
    sink.integer("workspace_bytes", 0);
  }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    return std::make_unique<Product>(gemm_, options_);
  }

 private:
  const Gemm gemm_;
  const plugin::Options options_;
};

class ToyBackend final : public plugin::Backend {
 public:
  static constexpr int32_t kPriority = 1000;  // `auto` prefers it to the backends of the package

  void describe(plugin::Sink& sink) override {
    sink.text("library.loops.version", "1.0");
    sink.text("library.loops.path", "built in");
    sink.text("default_library.gemm", "loops");
    sink.text("default_precision.gemm", "tf32");
    sink.text("synonyms", "npu tpu");             // what other programs call such a device
    sink.real("estimate.flops_per_s.gemm", 1e6);  // far too slow, so that estimates show it
    sink.real("estimate.row_limit_s", 60);
  }

  int32_t device_count() override { return 1; }

  void describe_device(int32_t device, plugin::Sink& sink) override {
    if (device != 0) plugin::invalid("device " + std::to_string(device) + ": the toy is device 0");
    sink.text("name", "toy accelerator");
    sink.integer("shares_host_memory", 1);
  }

  std::unique_ptr<plugin::Plan> plan(const plugin::Problem& problem,
                                     const plugin::Options& options) override {
    if (problem.op() != "gemm") plugin::unsupported("the toy supports only gemm");
    const std::string precision = problem.text("precision");
    if (precision != "tf32")
      plugin::unsupported("the toy supports only precision=tf32, not " + precision);
    if (options.cold) plugin::unsupported("the toy supports only cache=hot");
    const Gemm gemm = deepbench::gemm_problem(problem);
    if (gemm.flops() / 2 > kMaxProducts)
      plugin::unsupported("the problem is too large for three loops (m n k > 2^27)");
    return std::make_unique<ProductPlan>(gemm, options);
  }
};

}  // namespace
}  // namespace toy

DEEPBENCH_PLUGIN(toy::ToyBackend, "toy")
