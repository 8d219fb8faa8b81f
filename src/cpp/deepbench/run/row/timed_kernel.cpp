// Makes batches of a prepared kernel, and takes the steps between them.
#include "deepbench/run/row/timed_kernel.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/measure/options.hpp"
#include "deepbench/measure/sustained_load.hpp"
#include "deepbench/run/row/collective_timing.hpp"
#include "deepbench/run/row/measuring_hooks.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {
namespace {

// Calls between restores, unless the backend states a number.
constexpr int64_t kCallsInRange = 1 << 20;
constexpr uint64_t kCallsAfterPerturbation = 5;  // a batch of fewer calls is not perturbed

}  // namespace

TimedKernel::TimedKernel(const RowContext& context, const RunOptions& options, Stages& stages)
    : options_(options),
      stages_(stages),
      group_(context.group),
      hooks_(context.hooks),
      activity_(context.activity),
      launch_(static_cast<deepbench_launch>(options.launch)),
      // All ranks rest for the same time, so that they stay in step.
      rest_(value_of_rank_zero(group_, "rest",
                               options.is_sustained() ? 0 : context.device.real("most_clock_mhz"))),
      is_simulated_(context.backend.has_simulated_time()) {}

TimedKernel::TimedKernel(const RowContext& context, const Plan& plan, Stages& stages)
    : TimedKernel(context, plan.options, stages) {
  collective_step(group_, "prepare", [&] { prepare(context, plan); });
  agree_with_ranks();
}

TimedKernel::TimedKernel(const RowContext& context, const RunOptions& options, Kernel kernel,
                         Stages& stages)
    : TimedKernel(context, options, stages) {
  kernel_.emplace(std::move(kernel));
}

void TimedKernel::prepare(const RowContext& context, const Plan& plan) {
  Stopwatch watch;
  try {
    kernel_.emplace(plan.backend_plan().prepare());
    require_possible_padding(plan, facts());
    require_requested_caches(plan, facts(), context.device.real("last_level_cache_bytes", 0));
  } catch (...) {
    stages_.prepare_ns += watch.lap_ns();
    throw;
  }
  const double took_ns = watch.lap_ns();
  stages_.prepare_ns += took_ns;
  stages_.compiling_ns += std::fmin(took_ns, std::fmax(0.0, facts().real("compiling_ns")));
  conditions_ = stated_conditions(plan.problem, facts());
}

// Ranks whose kernels differ restore their operands and perturb their schedules at the same time.
void TimedKernel::agree_with_ranks() {
  const bool is_sensitive =
      facts().integer("schedule_sensitive") != 0 && launch_ != DEEPBENCH_LAUNCH_ISOLATED;
  const int64_t calls =
      in_place() ? facts().integer("restore_every", kCallsInRange) : kCallsInRange;
  const double adds_in_place = in_place() ? 1 : 0;
  const std::vector<double> agreed = smallest_of_ranks(
      group_, "kernel", {is_sensitive ? 1.0 : 0.0, double(calls), adds_in_place, -adds_in_place});
  if (agreed.at(2) != -agreed.at(3))
    throw RowFailure(Status::kFailed, "the kernels of some ranks work in place, and others do not");
  perturbs_schedule_ = agreed.at(0) != 0;
  calls_between_restores_ = static_cast<uint64_t>(std::max(1.0, agreed.at(1)));
}

// In place, the last batch of long calls can be verified only if it has a single call. Batches of
// short calls have more, even if other work on the machine delays one of them.
bool TimedKernel::resets_outputs_before(uint64_t count) const {
  const bool is_verifiable = count == 1 || !in_place();
  return resets_long_calls_ && is_verifiable && last_call_ns_ >= kLongCallNs;
}

// In-place results grow with every call: the operand is restored, outside the span, before it
// overflows.
void TimedKernel::restore_if_needed(uint64_t count) {
  outputs_reset_ = resets_outputs_before(count);
  if (outputs_reset_) return reset_outputs();
  if (!in_place() || calls_since_restore_ + count <= calls_between_restores_) return;
  collective_step(group_, "restore", [&] { kernel_->restore(); });
  calls_since_restore_ = 0;
}

void TimedKernel::reset_outputs() {
  collective_step(group_, "reset outputs", [&] { Verifier::reset_outputs(*kernel_); });
  calls_since_restore_ = 0;
}

Batch TimedKernel::batch(uint64_t count, deepbench_launch launch, uint32_t flags) {
  const Batch batch = slowest_batch(group_, count, [&] {
    if (processor_wait_) processor_wait_->lap_ns();
    Stopwatch watch;
    Batch mine = kernel_->time_batch(count, launch, flags);
    mine.watched_ns = watch.lap_ns();
    if (processor_wait_) mine.waited_ns = processor_wait_->lap_ns();
    if (!is_simulated_) mine.longest_watched_ns = mine.watched_ns;
    mine.own_elapsed_ns = mine.elapsed_ns;
    local_call_ns_ = mine.per_call_ns();
    return mine;
  });
  calls_since_restore_ += count;
  stages_.device_ns += batch.elapsed_ns;
  if (activity_) activity_->add_batch(options_.is_sustained());
  if (hooks_) hooks_->after_batch();
  return batch;
}

int64_t TimedKernel::working_threads(const Attributes& kernel_facts) const {
  const int64_t said = kernel_facts.integer("threads", 1);
  const int64_t most = sysconf(_SC_NPROCESSORS_ONLN);
  return is_simulated_ || most < 1 ? said : std::min(said, most);
}

void TimedKernel::begin_watching_waits() {
  if (facts().integer("threads") > 0 && !is_simulated_ && !group_) processor_wait_.emplace();
}

// The power controller of an H100 keeps the clock that a sustained load has lowered for longer than
// a short row takes, so that rests between the row's batches do not raise it in time.
void TimedKernel::rest_after_sustained_load() {
  if (!rest_.rests()) return;
  const double due_ns =
      value_of_rank_zero(group_, "recover", activity_ ? activity_->recovery_ns() : 0);
  if (due_ns > 0) stages_.rest_ns += sleep_for_ns(due_ns);
}

double TimedKernel::rest_if_due() {
  const double due_ns = rest_.next_rest_ns();
  if (due_ns > 0) stages_.rest_ns += sleep_for_ns(due_ns);
  return due_ns;
}

// Asks the backend to perturb the kernel's schedule and makes the calls that settle it.
double TimedKernel::perturb_schedule() {
  restore_if_needed(kCallsAfterPerturbation);
  return batch(kCallsAfterPerturbation, launch_, DEEPBENCH_REQUEST_PERTURB).spent_ns();
}

Batch TimedKernel::time(uint64_t count) {
  const double rested_ns = rest_if_due();
  const bool perturbs = perturbs_schedule_ && count > kCallsAfterPerturbation;
  const double untimed_ns = perturbs ? perturb_schedule() : 0;
  Batch made = time_without_rest(count);
  made.rested_ns = rested_ns;
  made.untimed_ns = untimed_ns;
  made.schedule_perturbed = perturbs;
  rest_.add(made);
  return made;
}

Batch TimedKernel::time_without_rest(uint64_t count) {
  restore_if_needed(count);
  const Batch made = batch(count);
  last_call_ns_ = made.per_call_ns();
  return made;
}

double TimedKernel::time_isolated_call() {
  restore_if_needed(1);
  batch(1, DEEPBENCH_LAUNCH_ISOLATED);
  return local_call_ns_;
}

bool TimedKernel::refill(const std::string& inputs, uint64_t seed) {
  bool refilled = false;
  collective_step(group_, "refill", [&] { refilled = kernel_->refill(inputs, seed); });
  if (refilled) has_first_inputs_ = false;
  return refilled;
}

void TimedKernel::require_first_inputs() {
  if (has_first_inputs_) return;
  if (!refill(options_.inputs, static_cast<uint64_t>(options_.seed)))
    throw RowFailure(Status::kFailed, "refill: the first inputs cannot be brought back");
  has_first_inputs_ = true;
}

}  // namespace deepbench
