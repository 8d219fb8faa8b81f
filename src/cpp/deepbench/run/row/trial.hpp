// Step 2 of a row: decides which calls of one candidate are made, and turns their times into a
// measurement. Rows, ceilings and the search among candidates time kernels through this class
// alone.
#pragma once

#include <limits>
#include <optional>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/measurement.hpp"
#include "deepbench/run/row/repeated_calls.hpp"
#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/timed_kernel.hpp"
#include "deepbench/run/row/trial_audit.hpp"

namespace deepbench {

class DEEPBENCH_API Trial {
 public:
  // Prepares the plan's candidate. `stages` accumulates the time of everything that this trial does
  // and outlives it. Throws RowFailure.
  Trial(const RowContext& context, const Plan& plan, Stages& stages);

  // Runs the measuring loop, with verification before and after it if the options ask for it.
  // Throws RowFailure, kIncorrect for a wrong result; measurement() then holds the results so far.
  Measurement measure(const MeasureOptions& how);

  // Takes over the `samples` that another trial of the same candidate measured, and runs one of
  // their batches as a warm-up.
  void resume(const Samples& samples);

  // Times of single calls on this rank, each after a barrier of all ranks. Requires measure() or
  // resume() before it.
  std::vector<double> time_single_calls();

  // Makes calls with operands of full mantissas, which show the order of additions. No calls if
  // outputs are not verified, or the operands cannot be refilled. Requires measure() or resume()
  // before it.
  RepeatedCalls repeat_calls();

  // Warms up, then times a few batches of at least `span_ns` without verification. A kernel whose
  // calls take more than `max_call_ns` contributes its last warm-up call as the only sample.
  std::vector<double> sample(int count, double span_ns,
                             double max_call_ns = std::numeric_limits<double>::infinity());

  // Consecutive calls and the device time of all of them.
  struct Span {
    uint64_t calls = 0;
    double elapsed_ns = 0;
  };
  // Repeats the measured batches without rests for at least `span_ns` of device time. Requires
  // measure() or resume() before it.
  Span run_for(double span_ns);

  // Makes one call between markers, and nothing else.
  Measurement run_once();

  // The results so far.
  Measurement measurement() const;

  const Attributes& facts() const { return timed_.facts(); }
  const Verification& verification() const { return audit_.verification(); }
  const std::optional<Samples>& samples() const { return samples_; }

 private:
  bool was_idle();
  void warm_up(double max_call_ns);
  MeasureOptions adapted(const MeasureOptions& how);
  MeasureOptions strictest_of_ranks(const MeasureOptions& mine);

  const Plan plan_;
  const Regime requested_regime_;
  Stages& stages_;
  Group* const group_;
  MeasuringHooks* const hooks_;
  DeviceActivity* const activity_;
  TimedKernel timed_;
  TrialAudit audit_;
  std::optional<Samples> samples_;
};

}  // namespace deepbench
