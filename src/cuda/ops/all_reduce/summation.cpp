// Support, memory and preparing, the same for all libraries.
#include "ops/all_reduce/summation.hpp"

#include "requirements.hpp"

namespace deepbench::cuda {
namespace {

plugin::CopyPlan plan_of(const AllReduce& sum, const plugin::Options& options) {
  return plan_copies(AllReduceOperands::touched_bytes(sum), options);
}

}  // namespace

Seats Summation::seats(const plugin::Options& options) {
  plugin::require_ranks("--devices 2");
  return {{options.device}, plugin::ranks().rank(), plugin::ranks().size()};
}

void Summation::supports(const plugin::Problem& problem, const plugin::Options& options) {
  const AllReduce sum = all_reduce_problem(problem);
  plugin::require_summable(sum.precision.name);
  require_our_kernels("all_reduce");
  const Seats taken = seats(options);
  if (taken.local() > 1 && plan_of(sum, options).regime == plugin::Regime::kFlush)
    plugin::unsupported(
        "the caches of several devices are made cold by copies alone, which do not "
        "suffice here; a process for each device can empty them");
  require(sum, taken);
  plugin::require_candidate(name_, ways(sum), options.candidate);
}

uint64_t Summation::memory_needed(const plugin::Problem& problem, const plugin::Options& options) {
  const AllReduce sum = all_reduce_problem(problem);
  return saturating_add(AllReduceOperands::needed_bytes(sum, plan_of(sum, options)),
                        workspace_bytes(sum, way_of(sum, options)));
}

std::string Summation::way_of(const AllReduce& sum, const plugin::Options& options) {
  return options.candidate.empty() ? ways(sum).front() : options.candidate;
}

std::vector<std::string> Summation::candidates(const plugin::Problem& problem,
                                               const plugin::Options&) {
  return ways(all_reduce_problem(problem));
}

std::unique_ptr<plugin::Kernel> Summation::prepare(const plugin::Problem& problem,
                                                   const plugin::Options& options) {
  supports(problem, options);
  const AllReduce sum = all_reduce_problem(problem);
  const Seats taken = seats(options);
  if (taken.local() < taken.ranks) require_own_devices(plugin::ranks(), options.device);
  const plugin::CopyPlan copies = plan_of(sum, options);
  auto all = std::make_unique<AllReduceOperands>(sum, taken, copies, inputs_named(options.inputs),
                                                 options.seed);
  AllReduceOperands& operands = *all;
  return std::make_unique<PreparedKernel>(Stream::of(options.device), copies, std::move(all),
                                          [&] { return call(operands, way_of(sum, options)); });
}

}  // namespace deepbench::cuda
