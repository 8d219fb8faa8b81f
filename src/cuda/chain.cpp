// Enqueues the calls of several kernels on the device's stream, on which all of them work.
#include "chain.hpp"

#include <algorithm>
#include <utility>

#include "deepbench/backend/kernel_chain.hpp"
#include "kernel.hpp"

namespace deepbench::cuda {
namespace {

using Steps = std::vector<plugin::ChainStep<DeviceKernel>>;

class DeviceChain final : public plugin::KernelChain<DeviceKernel>, private DeviceCall {
 public:
  explicit DeviceChain(Steps steps)
      : KernelChain(steps.front().kernel->device_stream(), plugin::CopyPlan()),
        steps_(std::move(steps)) {}
  ~DeviceChain() override { release_graphs(); }

  DeviceCall& timed_call() override { return *this; }

 private:
  void enqueue(uint64_t) override {
    for (const auto& step : steps_) step.kernel->timed_call().enqueue(step.copy);
  }
  bool can_be_captured() const override {
    return std::all_of(steps_.begin(), steps_.end(), [](const auto& step) {
      return step.kernel->timed_call().can_be_captured();
    });
  }

  const Steps steps_;
};

}  // namespace

std::unique_ptr<plugin::Kernel> link_kernels(const std::vector<plugin::Kernel*>& kernels) {
  Steps steps = plugin::chain_steps<DeviceKernel>(kernels);
  if (steps.empty()) plugin::invalid("a chain has at least one kernel");
  return std::make_unique<DeviceChain>(std::move(steps));
}

}  // namespace deepbench::cuda
