// Allocates the operands of all ranks of a machine, which share its memory.
#include "ops/collective/collective_implementation.hpp"

#include <utility>

#include "affinity.hpp"
#include "operand_cache.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

Participants CollectiveImplementation::find_participants(const Collective& collective,
                                                         const plugin::Options& options) {
  return plugin::participants_of_joined_group(name_of(collective.kind), options, "--ranks 2");
}

CopyPlan CollectiveImplementation::copies_for(const Collective& collective, int ranks,
                                              const plugin::Options& options) {
  return plan_copies(CollectiveOperands::touched_bytes(collective, ranks), options);
}

// All ranks of one machine allocate their operands at the same time.
uint64_t CollectiveImplementation::ranks_sharing_memory() {
  return uint64_t(plugin::ranks().local_size());
}

void CollectiveImplementation::before_allocating(const Participants&, uint64_t bytes) {
  require_memory_for_operands(bytes);
}

std::unique_ptr<plugin::Kernel> CollectiveImplementation::make_kernel(
    std::unique_ptr<CollectiveOperands> operands, const CopyPlan& copies,
    const std::string& algorithm) {
  auto made = make_call(*operands, algorithm);
  return std::make_unique<PreparedKernel>(std::move(operands), std::move(made), copies, 1);
}

void bind_rank_to_core() {
  bind_this_thread(topology().cpus_for_threads(
      plugin::ranks().local_size())[size_t(plugin::ranks().local_rank())]);
}

}  // namespace deepbench::cpu

template class deepbench::plugin::CollectiveImplementation<deepbench::cpu::RankMemory,
                                                           deepbench::cpu::LibraryCall>;
