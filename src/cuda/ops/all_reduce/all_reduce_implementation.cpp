// The checks, memory sizes and preparation that all libraries share.
#include "ops/all_reduce/all_reduce_implementation.hpp"

#include "requirements.hpp"

namespace deepbench::cuda {
namespace {

plugin::CopyPlan plan_of(const AllReduce& all_reduce, const plugin::Options& options) {
  return plan_copies(AllReduceOperands::touched_bytes(all_reduce), options);
}

}  // namespace

Participants AllReduceImplementation::find_participants(const plugin::Options& options) {
  plugin::require_ranks("--devices 2");
  return {{options.device}, plugin::ranks().rank(), plugin::ranks().size()};
}

void AllReduceImplementation::supports(const plugin::Problem& problem,
                                       const plugin::Options& options) {
  const AllReduce all_reduce = all_reduce_problem(problem);
  plugin::require_summable(all_reduce.precision.name);
  require_built_in_kernels("all_reduce");
  const Participants participants = find_participants(options);
  if (participants.local() > 1 && plan_of(all_reduce, options).regime == plugin::Regime::kFlush)
    plugin::unsupported(
        "with several devices in one process, cold caches require enough copies of the "
        "operands, which do not fit here; one process per device can flush them instead");
  require(all_reduce, participants);
  plugin::require_candidate(name_, algorithms(all_reduce), options.candidate);
}

uint64_t AllReduceImplementation::memory_needed(const plugin::Problem& problem,
                                                const plugin::Options& options) {
  const AllReduce all_reduce = all_reduce_problem(problem);
  return saturating_add(AllReduceOperands::needed_bytes(all_reduce, plan_of(all_reduce, options)),
                        workspace_bytes(all_reduce, algorithm_of(all_reduce, options)));
}

std::string AllReduceImplementation::algorithm_of(const AllReduce& all_reduce,
                                                  const plugin::Options& options) {
  return options.candidate.empty() ? algorithms(all_reduce).front() : options.candidate;
}

std::vector<std::string> AllReduceImplementation::candidates(const plugin::Problem& problem,
                                                             const plugin::Options&) {
  return algorithms(all_reduce_problem(problem));
}

std::unique_ptr<plugin::Kernel> AllReduceImplementation::prepare(const plugin::Problem& problem,
                                                                 const plugin::Options& options) {
  supports(problem, options);
  const AllReduce all_reduce = all_reduce_problem(problem);
  const Participants participants = find_participants(options);
  if (participants.local() < participants.ranks)
    require_distinct_devices(plugin::ranks(), options.device);
  const plugin::CopyPlan copies = plan_of(all_reduce, options);
  auto all = std::make_unique<AllReduceOperands>(all_reduce, participants, copies,
                                                 parse_inputs(options.inputs), options.seed);
  AllReduceOperands& operands = *all;
  return std::make_unique<PreparedKernel>(Stream::of(options.device), copies, std::move(all), [&] {
    return call(operands, algorithm_of(all_reduce, options));
  });
}

}  // namespace deepbench::cuda
