// Allocates the operands of all ranks of a machine, which share its memory.
#include "ops/all_reduce/all_reduce_implementation.hpp"

#include <utility>

#include "affinity.hpp"
#include "operand_cache.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

Participants AllReduceImplementation::find_participants(const plugin::Options& options) {
  return plugin::participants_of_joined_group(options, "--ranks 2");
}

CopyPlan AllReduceImplementation::copies_for(const AllReduce& all_reduce,
                                             const plugin::Options& options) {
  return plan_copies(AllReduceOperands::touched_bytes(all_reduce), options);
}

// All ranks of one machine allocate their operands at the same time.
uint64_t AllReduceImplementation::ranks_sharing_memory() {
  return uint64_t(plugin::ranks().local_size());
}

void AllReduceImplementation::before_allocating(const Participants&, uint64_t bytes) {
  require_memory_for_operands(bytes);
}

std::unique_ptr<plugin::Kernel> AllReduceImplementation::make_kernel(
    std::unique_ptr<AllReduceOperands> operands, const CopyPlan& copies,
    const std::string& algorithm) {
  auto made = make_call(*operands, algorithm);
  return std::make_unique<PreparedKernel>(std::move(operands), std::move(made), copies, 1);
}

void bind_rank_to_core() {
  bind_this_thread(topology().cpus_for_threads(
      plugin::ranks().local_size())[size_t(plugin::ranks().local_rank())]);
}

}  // namespace deepbench::cpu

template class deepbench::plugin::AllReduceImplementation<deepbench::cpu::RankMemory,
                                                          deepbench::cpu::LibraryCall>;
