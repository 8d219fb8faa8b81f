// Support, memory and preparing, the same for all libraries.
#include "ops/all_reduce/all_reduce_implementation.hpp"

#include "affinity.hpp"
#include "deepbench/backend/ranks.hpp"
#include "operand_cache.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace {

CopyPlan plan_of(const AllReduce& all_reduce, const plugin::Options& options) {
  return plan_copies(AllReduceOperands::touched_bytes(all_reduce), options);
}

// The ranks of a machine take it at the same time.
uint64_t memory_of_all(const AllReduce& all_reduce, const CopyPlan& copies) {
  return saturating_multiply(AllReduceOperands::needed_bytes(all_reduce, copies),
                             uint64_t(plugin::ranks().local_size()));
}

}  // namespace

void AllReduceImplementation::supports(const plugin::Problem& problem,
                                       const plugin::Options& options) {
  const AllReduce all_reduce = all_reduce_problem(problem);
  plugin::require_summable(all_reduce.precision.name);
  plugin::require_ranks("--ranks 2");
  require(all_reduce, options.candidate);
  plugin::require_candidate(name_, algorithms(all_reduce), options.candidate);
}

uint64_t AllReduceImplementation::memory_needed(const plugin::Problem& problem,
                                                const plugin::Options& options) {
  const AllReduce all_reduce = all_reduce_problem(problem);
  return memory_of_all(all_reduce, plan_of(all_reduce, options));
}

std::vector<std::string> AllReduceImplementation::candidates(const plugin::Problem& problem,
                                                             const plugin::Options& options) {
  // Only `best` has a limit, for which all ranks come, and only its time is limited. A name that is
  // none is answered with the candidates too, by rank 0 alone.
  if (options.limit > 0) before_selection();
  return algorithms(all_reduce_problem(problem));
}

std::unique_ptr<plugin::Kernel> AllReduceImplementation::prepare(const plugin::Problem& problem,
                                                                 const plugin::Options& options) {
  supports(problem, options);
  const AllReduce all_reduce = all_reduce_problem(problem);
  const CopyPlan copies = plan_of(all_reduce, options);
  require_memory_for_operands(memory_of_all(all_reduce, copies));
  auto operands = std::make_unique<AllReduceOperands>(all_reduce, plugin::ranks(), copies,
                                                      parse_inputs(options.inputs), options.seed);
  const std::string algorithm =
      options.candidate.empty() ? algorithms(all_reduce).front() : options.candidate;
  auto made = call(*operands, algorithm);
  return std::make_unique<PreparedKernel>(std::move(operands), std::move(made), copies, 1);
}

void bind_rank() {
  bind_this_thread(topology().cpus_for_threads(
      plugin::ranks().local_size())[size_t(plugin::ranks().local_rank())]);
}

}  // namespace deepbench::cpu
