// Makes the calls of several kernels back to back.
#include "chain.hpp"

#include <string>
#include <utility>

#include "deepbench/backend/kernel_chain.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {
namespace {

using Steps = std::vector<plugin::ChainStep<PreparedKernel>>;

class HostChain final : public plugin::KernelChain<HostKernel> {
 public:
  explicit HostChain(Steps steps)
      : KernelChain(CopyPlan(), steps.front().kernel->threads()), steps_(std::move(steps)) {}

  void time_batch(const deepbench_request& request, deepbench_batch& batch) override {
    for (const auto& step : steps_) step.kernel->library_call().begin_batch();
    std::string failure;
    time_calls(
        request, rotation_, nullptr,
        [&](uint64_t) {
          for (const auto& step : steps_) {
            LibraryCall& library = step.kernel->library_call();
            const int status = library.run(step.copy);
            if (status != 0) failure = library.error_text(status);
          }
        },
        batch);
    if (!failure.empty()) plugin::failed("a call failed: " + failure);
  }

 private:
  const Steps steps_;
};

}  // namespace

std::unique_ptr<plugin::Kernel> link_kernels(const std::vector<plugin::Kernel*>& kernels) {
  Steps steps = plugin::chain_steps<PreparedKernel>(kernels);
  if (steps.empty()) plugin::invalid("a chain has at least one kernel");
  return std::make_unique<HostChain>(std::move(steps));
}

}  // namespace deepbench::cpu
