// Makes the calls of several kernels back to back.
#include "chain.hpp"

#include <algorithm>
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

// Threads of OpenMP and built-in ones wait actively for their next call, so that each keeps the
// other from the processors for milliseconds after every change between both.
void require_one_kind_of_threads(const Steps& steps) {
  const auto is_of_first_kind = [&](const auto& step) {
    return step.kernel->library_call().has_thread_team() ==
           steps.front().kernel->library_call().has_thread_team();
  };
  if (steps.front().kernel->threads() > 1 &&
      !std::all_of(steps.begin(), steps.end(), is_of_first_kind))
    plugin::unsupported(
        "some kernels of the chain run on threads of OpenMP and others on built-in ones, which "
        "hinder each other; on one thread (--threads 1) they do not");
}

}  // namespace

std::unique_ptr<plugin::Kernel> link_kernels(const std::vector<plugin::Kernel*>& kernels) {
  Steps steps = plugin::chain_steps<PreparedKernel>(kernels);
  if (steps.empty()) plugin::invalid("a chain has at least one kernel");
  require_one_kind_of_threads(steps);
  return std::make_unique<HostChain>(std::move(steps));
}

}  // namespace deepbench::cpu
