// What the device demands of a sum over ranks, and the kernel around a library's call.
#include "ops/all_reduce/all_reduce_implementation.hpp"

#include <utility>

#include "deepbench/backend/rank_devices.hpp"
#include "device.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {

Participants AllReduceImplementation::find_participants(const plugin::Options& options) {
  return plugin::participants_of_joined_group(options, "--devices 2");
}

void AllReduceImplementation::require_supported_by_backend(const AllReduce& all_reduce,
                                                           const Participants& participants,
                                                           const plugin::Options& options) {
  require_built_in_kernels("all_reduce");
  if (participants.local() > 1 && copies_for(all_reduce, options).regime == plugin::Regime::kFlush)
    plugin::unsupported(
        "with several devices in one process, only copies of the operands make caches cold, and "
        "the copies do not suffice here; one process per device can flush the caches instead");
}

plugin::CopyPlan AllReduceImplementation::copies_for(const AllReduce& all_reduce,
                                                     const plugin::Options& options) {
  return plan_copies(AllReduceOperands::touched_bytes(all_reduce), options);
}

void AllReduceImplementation::before_allocating(const Participants& participants, uint64_t) {
  if (participants.local() < participants.ranks)
    plugin::require_distinct_devices(
        plugin::ranks(),
        plugin::identify_rank_device(device_facts(participants.devices.front()).pci_bus_id,
                                     device_count(), plugin::ranks()));
}

std::unique_ptr<plugin::Kernel> AllReduceImplementation::make_kernel(
    std::unique_ptr<AllReduceOperands> operands, const plugin::CopyPlan& copies,
    const std::string& algorithm) {
  AllReduceOperands& prepared = *operands;
  return std::make_unique<PreparedKernel>(prepared.rank(0).memory().stream(), copies,
                                          std::move(operands),
                                          [&] { return make_call(prepared, algorithm); });
}

}  // namespace deepbench::cuda

template class deepbench::plugin::AllReduceImplementation<deepbench::cuda::RankMemory,
                                                          deepbench::cuda::LibraryCall>;
