// Preparing one trial after the other.
#include "deepbench/run/row/trial_slot.hpp"

#include "deepbench/core/status.hpp"

namespace deepbench {

void TrialSlot::prepare(const RowContext& context, const Plan& plan, Stages& stages) {
  trial.reset();  // frees its memory before the next trial allocates
  unfinished = Measurement();
  unfinished->candidate = plan.candidate;
  unfinished->regime = requested_regime({plan.problem, plan.options}, context.device);
  trial = std::make_unique<Trial>(context, plan, stages);
}

Measurement TrialSlot::measure(const RowContext& context, const Plan& plan, Stages& stages) {
  prepare(context, plan, stages);
  try {
    Measurement measurement = trial->measure(plan.options.for_measuring(context.device));
    unfinished.reset();
    return measurement;
  } catch (const RowFailure&) {
    unfinished = trial->measurement();
    throw;
  }
}

Measurement TrialSlot::run_once(const RowContext& context, const Plan& plan, Stages& stages) {
  prepare(context, plan, stages);
  Measurement measurement = trial->run_once();
  unfinished.reset();
  return measurement;
}

}  // namespace deepbench
