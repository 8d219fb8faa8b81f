// Checks the requirements of a collective on the device, and makes the kernel around a library's
// call.
#include "ops/collective/collective_implementation.hpp"

#include <utility>

#include "deepbench/backend/rank_devices.hpp"
#include "device.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {

Participants CollectiveImplementation::find_participants(const Collective& collective,
                                                         const plugin::Options& options) {
  return plugin::participants_of_joined_group(name_of(collective.kind), options, "--devices 2");
}

void CollectiveImplementation::require_supported_by_backend(const Collective& collective,
                                                            const Participants& participants,
                                                            const plugin::Options& options) {
  require_built_in_kernels(std::string(name_of(collective.kind)));
  if (participants.local() > 1 &&
      copies_for(collective, participants.ranks, options).regime == plugin::Regime::kFlush)
    plugin::unsupported(
        "with several devices in one process, only copies of the operands make caches cold, and "
        "the copies do not suffice here; one process per device can flush the caches instead");
}

plugin::CopyPlan CollectiveImplementation::copies_for(const Collective& collective, int ranks,
                                                      const plugin::Options& options) {
  return plan_copies(CollectiveOperands::touched_bytes(collective, ranks), options);
}

void CollectiveImplementation::before_allocating(const Participants& participants, uint64_t) {
  if (participants.local() < participants.ranks)
    plugin::require_distinct_devices(
        plugin::ranks(),
        plugin::identify_rank_device(device_facts(participants.devices.front()).pci_bus_id,
                                     device_count(), plugin::ranks()));
}

std::unique_ptr<plugin::Kernel> CollectiveImplementation::make_kernel(
    std::unique_ptr<CollectiveOperands> operands, const plugin::CopyPlan& copies,
    const std::string& algorithm) {
  CollectiveOperands& prepared = *operands;
  return std::make_unique<PreparedKernel>(prepared.rank(0).memory().stream(), copies,
                                          std::move(operands),
                                          [&] { return make_call(prepared, algorithm); });
}

}  // namespace deepbench::cuda

template class deepbench::plugin::CollectiveImplementation<deepbench::cuda::RankMemory,
                                                           deepbench::cuda::LibraryCall>;
