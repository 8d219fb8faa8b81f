// Step 2 of a row: one candidate in memory, verified and measured. Rows, ceilings and the search
// among candidates time kernels through this class alone.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/measure/audit.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/measure/rest_policy.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/measurement.hpp"
#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/verify.hpp"

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

  // Warms up, then times a few batches of at least `span_ns` without verification. A kernel whose
  // calls take more than `max_call_ns` contributes its last warm-up call as the only sample.
  std::vector<double> sample(int count, double span_ns,
                             double max_call_ns = std::numeric_limits<double>::infinity());

  // Repeats the measured batches without rests for at least `span_ns` of device time, and returns
  // the number of calls. Requires measure() or resume() before it.
  uint64_t run_for(double span_ns);

  // Makes one call between markers, and nothing else.
  Measurement run_once();

  // The results so far.
  Measurement measurement() const;

  const Attributes& facts() const { return kernel_->facts(); }
  const Verification& verification() const { return verification_; }
  const std::optional<Samples>& samples() const { return samples_; }

 private:
  void prepare();
  void prepare_verification();
  void draw_spot_checks();
  void reset_outputs();
  Batch batch(uint64_t count, deepbench_launch launch = DEEPBENCH_LAUNCH_BEST, uint32_t flags = 0);
  bool was_idle();
  double rest_if_due();       // sleeps if a rest is due; returns its length
  double perturb_schedule();  // returns its host time
  void warm_up(double max_call_ns);
  Batch time(uint64_t count);
  Batch time_without_rest(uint64_t count);
  void restore_if_needed(uint64_t count);
  void verify(Verifier& verifier, const std::string& when);
  // Throws RowFailure where `check` returns false on any rank.
  void judge(const Verifier& verifier, const std::string& step, const std::function<bool()>& check);
  double verify_outputs_of_next_batch(Verifier& verifier, const std::string& when);
  bool is_spot_check(uint64_t count);
  Batch time_in_loop(uint64_t count);
  Batch time_after_reset(uint64_t count);
  double time_reading();
  ReadingTimes time_readings();
  bool is_suspect(const std::string& what, bool mine);
  void require_no_doubt(const std::string& doubt);
  void audit(const MeasureOptions& options, double verified_call_ns);
  void audit_reading();
  void audit_clock(const MeasureOptions& options);
  bool refill(const std::string& inputs, uint64_t seed);
  void refill_first_inputs();
  void verify_exact_sums();
  bool is_refilled() const;
  void verify_other_operands();
  Verifier make_verifier(const std::string& inputs, const Verifier::MakeReference& make_reference);
  uint64_t calls_between_restores() const;

  const Plan plan_;
  const Backend backend_;
  const Regime requested_regime_;
  const double last_level_bytes_;
  std::optional<Kernel> kernel_;
  std::optional<Verifier> verifier_;
  Verification verification_;
  Stages& stages_;
  Group* const group_;
  MeasuringHooks* const hooks_;
  DeviceActivity* const activity_;
  const deepbench_launch launch_;
  RestPolicy rest_;
  bool perturbs_schedule_ = false;
  bool is_simulated_ = false;  // the backend's times are not the host's
  double local_call_ns_ = 0;   // of the last batch on this rank
  uint64_t calls_since_restore_ = 0;
  double last_call_ns_ = 0;
  bool outputs_reset_ = false;  // the last batch wrote to poisoned outputs
  uint64_t batches_in_loop_ = 0;
  std::vector<uint64_t> spot_checks_;  // the numbers of the batches that are checked in the loop
  double first_reading_ns_ = 0;        // of the results after timing, on this rank
  std::string clock_note_;
  std::optional<Samples> samples_;
};

}  // namespace deepbench
