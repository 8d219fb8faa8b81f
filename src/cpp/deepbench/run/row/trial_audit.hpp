// Decides whether a trial's results can be trusted: verifies the outputs of the timed calls before,
// during and after timing, and compares their times with each other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/group/group.hpp"
#include "deepbench/measure/audit.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/timed_kernel.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {

// Every function throws RowFailure on all ranks for a fault that it finds: kIncorrect for outputs,
// kMistrusted for times. verification() then holds the reason.
class TrialAudit {
 public:
  // Computes what the outputs must be, unless the options or the operation leave nothing to verify.
  // `timed` and `stages` outlive the audit.
  TrialAudit(const RowContext& context, const Plan& plan, TimedKernel& timed, Stages& stages);

  // Whether outputs are verified. If not, none of the functions below may be called.
  bool verifies() const { return verifier_.has_value(); }
  const Verification& verification() const { return verification_; }
  uint64_t outputs() const { return verifier_->result().outputs; }  // only if verifies()
  // Doubts about a clock that is not far off, and doubts that other processes on the device may
  // explain.
  const std::vector<std::string>& notes() const { return notes_; }

  // Verifies the outputs of the calls since they were reset. `when` names the step in messages.
  void verify(const std::string& when) { verify(*verifier_, when); }
  // Times the next batch of the measuring loop, and verifies it briefly if it was drawn for a spot
  // check.
  Batch time_in_loop(uint64_t count);
  // Audits the trial after the samples, which it does not affect.
  void audit(const Samples& samples, const MeasureOptions& options);

 private:
  void draw_spot_checks();
  Verifier make_verifier(const std::string& inputs, const Verifier::MakeReference& make_reference);
  bool is_spot_check(uint64_t count);

  void verify(Verifier& verifier, const std::string& when);
  // Throws on all ranks if `check` returns false on any rank.
  void judge(const Verifier& verifier, const std::string& step, const std::function<bool()>& check);
  double verify_last_calls();
  double verify_sum_of_batch(Verifier& verifier, const std::string& when);
  double verify_outputs_of_next_batch(Verifier& verifier, const std::string& when);
  void verify_refilled();
  void verify_exact_sums();
  bool is_refilled() const;
  void verify_other_operands();

  void read_one();
  Batch time_after_reset(uint64_t count);
  double time_reading();
  ReadingTimes time_readings();
  bool is_suspect(const std::string& what, bool mine);
  void require_no_doubt(const std::string& doubt);
  void audit_batches(double verified_call_ns);
  void audit_call_after_reset(double verified_call_ns);
  void audit_reading();
  bool is_host_time_comparable() const;
  bool judge_clock(const ClockDoubt& doubt);
  Samples samples_of_clock() const;
  void audit_clock();

  const Plan plan_;
  Group* const group_;
  const bool is_device_shared_;  // other processes use the device
  TimedKernel& timed_;
  Stages& stages_;
  std::optional<Verifier> verifier_;
  Verification verification_;
  uint64_t batches_in_loop_ = 0;
  std::vector<uint64_t> spot_checks_;  // numbers of the batches in the loop that are checked
  double first_reading_ns_ = 0;  // time in which this rank first read the results after timing
  std::vector<std::string> notes_;
  // The arguments of audit().
  Samples samples_;
  MeasureOptions options_;
};

}  // namespace deepbench
