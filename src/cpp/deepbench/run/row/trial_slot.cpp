// Preparing one trial after the other.
#include "deepbench/run/row/trial_slot.hpp"

namespace deepbench {

Attempt TrialSlot::run(const RowContext& context, const Plan& plan, Stages& stages,
                       const std::function<void(Measurement&)>& body) {
  trial.reset();  // frees its memory before the next trial allocates
  Attempt attempt;
  attempt.measurement.candidate = plan.candidate;
  attempt.measurement.regime = requested_regime({plan.problem, plan.options}, context.device);
  try {
    trial = std::make_unique<Trial>(context, plan, stages);
    body(attempt.measurement);
  } catch (...) {
    attempt.failure = std::current_exception();
  }
  return attempt;
}

Attempt TrialSlot::measure(const RowContext& context, const Plan& plan, Stages& stages) {
  return run(context, plan, stages, [&](Measurement& measurement) {
    try {
      measurement = trial->measure(plan.options.for_measuring(context.device));
    } catch (...) {
      measurement = trial->measurement();
      throw;
    }
  });
}

Attempt TrialSlot::run_once(const RowContext& context, const Plan& plan, Stages& stages) {
  return run(context, plan, stages,
             [&](Measurement& measurement) { measurement = trial->run_once(); });
}

}  // namespace deepbench
