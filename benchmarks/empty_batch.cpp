// Measures the cost of the plugin interface: batches of one call that does nothing, through the
// plugin's table, as in the measuring loop. Prints the median in nanoseconds; the goal is under 1
// µs.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

#include "deepbench/core/problem.hpp"
#include "deepbench/plugin.hpp"
#include "deepbench/run/backend/backend.hpp"

namespace {

using deepbench::plugin::Options;
using deepbench::plugin::Problem;
using deepbench::plugin::Sink;

double now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::nano>(now).count();
}

class EmptyKernel final : public deepbench::plugin::Kernel {
 public:
  void describe(Sink& sink) const override { sink.text("library", "nothing"); }
  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    const double begin = now_ns();
    const double end = now_ns();
    batch.count = request.count;
    batch.elapsed_ns = std::max(end - begin, 1.0);
    batch.host_ns = batch.elapsed_ns;
    batch.copies_touched = 1;
    batch.launch = DEEPBENCH_LAUNCH_STREAM;
    batch.timer = "steady_clock";
  }
  void poison_outputs() override {}
  void read_output(const uint64_t*, size_t, double*) override {}
  void scan_output(deepbench_scan&) override {}
  void project_output(uint64_t, uint64_t, double*) override {}
};

class EmptyBackend final : public deepbench::plugin::Backend {
 public:
  void describe(Sink&) override {}
  int32_t device_count() override { return 1; }
  void describe_device(int32_t, Sink&) override {}
  void supports(const Problem&, const Options&) override {}
  uint64_t memory_needed(const Problem&, const Options&) override { return 0; }
  std::unique_ptr<deepbench::plugin::Kernel> prepare(const Problem&, const Options&) override {
    return std::make_unique<EmptyKernel>();
  }
};

}  // namespace

int main() {
  constexpr int kRounds = 1001, kBatches = 100;
  const deepbench::Backend backend(deepbench::plugin::table<EmptyBackend>("nothing"), "");
  const auto problem = deepbench::Problem::parse("gemm m=1 n=1 k=1");
  deepbench::Kernel kernel = backend.prepare(problem, {});
  std::vector<double> per_batch_ns;
  for (int round = 0; round < kRounds; ++round) {
    const double begin = now_ns();
    for (int i = 0; i < kBatches; ++i) kernel.time_batch(1);
    per_batch_ns.push_back((now_ns() - begin) / kBatches);
  }
  std::nth_element(per_batch_ns.begin(), per_batch_ns.begin() + kRounds / 2, per_batch_ns.end());
  std::printf("%.1f\n", per_batch_ns[kRounds / 2]);
}
