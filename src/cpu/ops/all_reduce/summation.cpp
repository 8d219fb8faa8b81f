// Support, memory and preparing, the same for all libraries.
#include "ops/all_reduce/summation.hpp"

#include "binding.hpp"
#include "deepbench/backend/ranks.hpp"
#include "operand_store.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

CopyPlan plan_of(const AllReduce& sum, const plugin::Options& options) {
  return plan_copies(AllReduceOperands::touched_bytes(sum), options);
}

// The ranks of a machine take it at the same time.
uint64_t memory_of_all(const AllReduce& sum, const CopyPlan& copies) {
  return saturating_multiply(AllReduceOperands::needed_bytes(sum, copies),
                             uint64_t(plugin::ranks().local_size()));
}

}  // namespace

void Summation::supports(const plugin::Problem& problem, const plugin::Options& options) {
  const AllReduce sum = all_reduce_problem(problem);
  plugin::require_summable(sum.precision.name);
  plugin::require_ranks("--ranks 2");
  require(sum, options.candidate);
  plugin::require_candidate(name_, ways(sum), options.candidate);
}

uint64_t Summation::memory_needed(const plugin::Problem& problem, const plugin::Options& options) {
  const AllReduce sum = all_reduce_problem(problem);
  return memory_of_all(sum, plan_of(sum, options));
}

std::vector<std::string> Summation::candidates(const plugin::Problem& problem,
                                               const plugin::Options& options) {
  // Only `best` has a limit, for which all ranks come, and only its time is limited. A name that is
  // none is answered with the candidates too, by rank 0 alone.
  if (options.limit > 0) begin_trying();
  return ways(all_reduce_problem(problem));
}

std::unique_ptr<plugin::Kernel> Summation::prepare(const plugin::Problem& problem,
                                                   const plugin::Options& options) {
  supports(problem, options);
  const AllReduce sum = all_reduce_problem(problem);
  const CopyPlan copies = plan_of(sum, options);
  require_memory_for_operands(memory_of_all(sum, copies));
  auto operands = std::make_unique<AllReduceOperands>(sum, plugin::ranks(), copies,
                                                      inputs_named(options.inputs), options.seed);
  const std::string way = options.candidate.empty() ? ways(sum).front() : options.candidate;
  auto made = call(*operands, way);
  return std::make_unique<PreparedKernel>(std::move(operands), std::move(made), copies, 1);
}

void bind_rank() {
  bind_this_thread(
      topology().places(plugin::ranks().local_size())[size_t(plugin::ranks().local_rank())]);
}

}  // namespace deepbench::cpu
