// Decides support, computes memory and prepares kernels in the same way for all libraries.
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

// All ranks of one machine allocate their operands at the same time.
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
  // Only `--algorithm best` sets a limit, and then all ranks call this function. Only its time is
  // limited. For an unknown name, rank 0 alone calls it in order to list the candidates.
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
