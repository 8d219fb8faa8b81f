// One prepared kernel, whose batches all ranks make together: rests, perturbations of the schedule
// and the restoring of operands come between the batches, and the time of each stage adds up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "deepbench/core/processor_wait.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/measure/rest_policy.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/measurement.hpp"
#include "deepbench/run/row/row_context.hpp"

namespace deepbench {

class TimedKernel {
 public:
  // Prepares the plan's candidate. `stages` outlives the kernel. Throws RowFailure.
  TimedKernel(const RowContext& context, const Plan& plan, Stages& stages);
  // Takes over a kernel of several problems, whose operands the caller restores.
  TimedKernel(const RowContext& context, const RunOptions& options, Kernel kernel, Stages& stages);

  Kernel& kernel() { return *kernel_; }
  const Attributes& facts() const { return kernel_->facts(); }
  const Attributes& conditions() const { return conditions_; }  // the result of stated_conditions()
  bool in_place() const { return kernel_->in_place(); }
  // Whether the backend's times are a simulator's.
  bool is_simulated() const { return is_simulated_; }
  // The number of threads that do the work of a kernel with these facts and may have to be woken
  // for it, limited by the number of processors.
  int64_t working_threads(const Attributes& kernel_facts) const;
  bool perturbs_schedule() const { return perturbs_schedule_; }
  // The number of calls after which an operand in place is restored.
  uint64_t calls_between_restores() const { return calls_between_restores_; }

  // From begin_watching_waits() to end_watching_waits(), batches state how long a thread waited for
  // its processor, if the host's threads do the work. In a group they do not, because the threads
  // of several ranks wait for each other.
  void begin_watching_waits();
  void end_watching_waits() { processor_wait_.reset(); }

  // In the rested regime: waits until the device has left the state of a sustained load, if an
  // earlier row left it there.
  void rest_after_sustained_load();
  // Times a batch, after a rest and a schedule perturbation where they are due.
  Batch time(uint64_t count);
  Batch time_without_rest(uint64_t count);
  // Makes a batch without a rest or a perturbation before it.
  Batch batch(uint64_t count, deepbench_launch launch, uint32_t flags = 0);
  Batch batch(uint64_t count) { return batch(count, launch_); }
  // One isolated call; returns its time on this rank.
  double time_isolated_call();
  // The time of a call in the last batch that time() or time_without_rest() made.
  double last_call_ns() const { return last_call_ns_; }

  // Poisons the outputs, or restores them where calls are in place.
  void reset_outputs();
  // Calls since the operand in place was restored. reset_outputs() restores it too.
  uint64_t calls_since_restore() const { return calls_since_restore_; }
  // From now on, the outputs are reset before each batch of long calls, so that the last batch can
  // be verified without another call.
  void reset_outputs_of_long_calls() { resets_long_calls_ = true; }
  // Whether the outputs are reset before the next batch, of `count` calls, because calls are long.
  bool resets_outputs_before(uint64_t count) const;
  // Whether they were reset before the last batch.
  bool outputs_reset() const { return outputs_reset_; }
  // Rewrites the operands in place. Returns false, with the operands unchanged, if the kernel
  // cannot be refilled.
  bool refill(const std::string& inputs, uint64_t seed);
  // Brings the row's own inputs back if refill() has changed them.
  void require_first_inputs();

 private:
  // Has no kernel yet.
  TimedKernel(const RowContext& context, const RunOptions& options, Stages& stages);

  void prepare(const RowContext& context, const Plan& plan);
  void agree_with_ranks();
  double rest_if_due();       // sleeps if a rest is due; returns its length
  double perturb_schedule();  // returns its host time
  void restore_if_needed(uint64_t count);

  const RunOptions options_;
  Stages& stages_;
  Group* const group_;
  MeasuringHooks* const hooks_;
  DeviceActivity* const activity_;
  const deepbench_launch launch_;
  RestPolicy rest_;
  std::optional<Kernel> kernel_;
  std::optional<ProcessorWait> processor_wait_;
  Attributes conditions_;
  bool perturbs_schedule_ = false;
  const bool is_simulated_;
  double local_call_ns_ = 0;  // time of a call in the last batch on this rank
  double last_call_ns_ = 0;
  uint64_t calls_between_restores_ = 1;
  uint64_t calls_since_restore_ = 0;
  bool resets_long_calls_ = false;
  bool outputs_reset_ = false;
  bool has_first_inputs_ = true;
};

}  // namespace deepbench
