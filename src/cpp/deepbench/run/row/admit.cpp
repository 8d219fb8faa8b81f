// Planning a problem with the backend, and checking memory before anything is allocated.
#include "deepbench/run/row/admit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "deepbench/core/host_memory.hpp"
#include "deepbench/core/operation.hpp"

namespace deepbench {
namespace {

constexpr size_t kNamedCandidates = 12;  // candidates that a message names

// The amount in the largest unit in which it is at least 0.1.
std::string bytes_text(double bytes) {
  const char* const units[] = {" GiB", " MiB", " KiB"};
  double size = bytes / (1 << 30);
  size_t unit = 0;
  for (; unit < 2 && size < 0.1; ++unit) size *= 1024;
  return to_text(std::round(size * 100) / 100) + units[unit];
}

// `call` and `verification` are the bytes of `memory_kind` that the call and its verification need.
void require_available(double call, double verification, double available,
                       const std::string& memory_kind) {
  if (available <= 0 || call + verification <= available) return;
  const std::string left = bytes_text(available) + " are available";
  if (verification == 0)
    throw RowFailure(Status::kOutOfMemory,
                     "needs " + bytes_text(call) + " of " + memory_kind + "; " + left);
  throw RowFailure(Status::kOutOfMemory,
                   "needs " + (call > 0 ? bytes_text(call) + " of " + memory_kind + " and " : "") +
                       bytes_text(verification) + (call > 0 ? "" : " of " + memory_kind) +
                       " to be verified; " + left + " (--no-verify measures without)");
}

[[noreturn]] void throw_unknown_candidate(const Plan& plan, const RowContext& context,
                                          const std::vector<std::string>& ids) {
  std::string known;
  for (size_t i = 0; i < std::min(ids.size(), kNamedCandidates); ++i) known += " " + ids[i];
  if (ids.size() > kNamedCandidates)
    known += " and " + std::to_string(ids.size() - kNamedCandidates) + " more";
  throw RowFailure(Status::kInvalid, "backend " + context.backend.name() + " has no candidate '" +
                                         printable(plan.candidate) + "' for this problem" +
                                         suggestion(plan.candidate, ids) +
                                         (ids.empty() ? "; it has none" : "; it has" + known) +
                                         ", beside default, best and exhaustive");
}

// Where the operands alone exceed the memory, says so in place of a library's refusal, which may
// name an unrelated limit.
void require_operands_fit(const Problem& problem, const RowContext& context) {
  const double bytes = problem.operation().work(problem).bytes;
  const double least = bytes / 2;  // an operand counts at most twice in `bytes`
  const double available = context.device.real("memory_available_bytes", 0);
  if (available > 0 && least > available)
    throw RowFailure(Status::kOutOfMemory, "its operands alone take " + bytes_text(least) +
                                               " of memory; " + bytes_text(available) +
                                               " are available");
}

Plan plan_or_reject_too_large(const RowRequest& request, const RowContext& context) {
  try {
    return plan_first_choice(request, context.backend);
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kUnsupported) require_operands_fit(request.problem, context);
    throw;
  }
}

void require_output_count(const BackendPlan& planned, const Problem& problem) {
  const size_t expected = problem.operation().outputs(problem).size();
  if (planned.outputs() != expected)
    throw RowFailure(Status::kFailed,
                     "describe_plan: the backend gave an impossible answer: outputs=" +
                         std::to_string(planned.outputs()) + ", where " +
                         problem.operation().name() + " has " + std::to_string(expected));
}

void plan_named_candidate(const Plan& plan, const RowContext& context) {
  try {
    plan.backend_plan();
  } catch (const RowFailure& failure) {
    if (failure.status() != Status::kInvalid) throw;
    const auto ids = plan.backend_plans->first().candidates(0).ids;
    if (std::find(ids.begin(), ids.end(), plan.candidate) != ids.end()) throw;
    throw_unknown_candidate(plan, context, ids);
  }
}

// The ranks of a machine check at the same time, before any of them allocates.
double available_memory(const RowContext& context) {
  const bool on_host_memory = context.device.integer("shares_host_memory") != 0;
  return context.device.real("memory_available_bytes", context.device.real("memory_bytes", 0)) /
         (on_host_memory ? context.ranks_sharing_memory : 1);
}

// Refuses the row before the machine swaps or the operating system ends the process for lack of
// memory. While the kernel holds its memory, verification takes host memory, and the backend's
// reference takes device memory.
void require_memory(const Plan& plan, const RowContext& context) {
  const Operation& operation = plan.problem.operation();
  const RunOptions& options = plan.options;
  const auto needed = double(plan.backend_plan().memory_bytes());
  const bool on_host_memory = context.device.integer("shares_host_memory") != 0;
  const int sharing = context.ranks_sharing_memory;
  const double available = available_memory(context);
  require_available(needed, 0, available, "memory");
  if (!options.should_verify(operation)) return;

  double on_device = 0, on_host = operation.verification_bytes(plan.problem);
  if (operation.reference_source(plan.problem) == ReferenceSource::kReferenceKernel)
    on_device = double(plan.reference_plan(context.backend).memory_bytes());
  if (on_host_memory) on_device += std::exchange(on_host, 0);
  require_available(needed, on_device, available, "memory");
  require_available(0, on_host, host_memory_available() / sharing, "host memory");
}

}  // namespace

void require_available_memory(double on_device, double on_host, const RowContext& context) {
  const bool on_host_memory = context.device.integer("shares_host_memory") != 0;
  if (on_host_memory) on_device += std::exchange(on_host, 0);
  require_available(on_device, 0, available_memory(context), "memory");
  require_available(on_host, 0, host_memory_available() / context.ranks_sharing_memory,
                    "host memory");
}

std::variant<Plan, Refusal> admit(const RowRequest& request, const RowContext& context) {
  try {
    const Plan plan = plan_or_reject_too_large(request, context)
                          .with_candidate(request.options.named_candidate());
    require_output_count(plan.backend_plans->first(), plan.problem);
    if (!plan.candidate.empty()) plan_named_candidate(plan, context);
    require_memory(plan, context);
    return plan;
  } catch (const RowFailure& failure) {
    return Refusal{failure.status(), failure.what()};
  }
}

Plan plan_first_choice(const RowRequest& request, const Backend& backend) {
  return {request.problem, request.options, "",
          std::make_shared<CandidatePlans>(
              backend.plan(request.problem, request.options.for_plugin()))};
}

const BackendPlan& CandidatePlans::get(const std::string& id) {
  if (id.empty()) return first_;
  const auto known = candidates_.find(id);
  if (known != candidates_.end()) return known->second;
  return candidates_.emplace(id, first_.with_candidate(id)).first->second;
}

const BackendPlan& CandidatePlans::reference(const RowRequest& request, const Backend& backend) {
  if (!reference_)
    reference_.emplace(backend.plan(request.problem, request.options.for_reference()));
  return *reference_;
}

}  // namespace deepbench
