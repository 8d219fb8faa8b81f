// Verifies the calls that are timed, and compares their times with each other.
#include "deepbench/run/row/trial_audit.hpp"

#include <algorithm>
#include <iterator>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/processor_wait.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/fill.h"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row/collective_timing.hpp"

namespace deepbench {
namespace {

// In each of these ranges, a random batch of the measuring loop is checked briefly.
constexpr uint64_t kSpotCheckRanges[] = {2, 6, 32, 256, 2048};
// A check of more outputs takes as long as many batches.
constexpr double kManyOutputs = 1 << 20;
constexpr uint32_t kSpotCheckStream = 22;  // random stream that draws the spot checks
// Other operands may give the same result by chance, for example if the only output is in bfloat16.
// This happens once in hundreds of rows, and practically never this many times in a row.
constexpr uint64_t kRefills = 4;
constexpr uint32_t kRefillStream = 23;       // random stream of the seeds of refills
constexpr uint64_t kRefilledLongRows = 8;    // one of this many rows of long calls is refilled
constexpr uint32_t kRefilledRowStream = 24;  // random stream that draws these rows

}  // namespace

// Draws the seed only after the kernel is prepared. All ranks compare the same places.
TrialAudit::TrialAudit(const RowContext& context, const Plan& plan, TimedKernel& timed,
                       Stages& stages)
    : plan_(plan),
      group_(context.group),
      is_device_shared_(context.device.integer("other_processes", 0) > 0),
      timed_(timed),
      stages_(stages) {
  verification_.conditions = timed_.conditions();
  const RunOptions& options = plan_.options;
  if (!options.verify || options.once) {
    verification_.reason = options.once ? "one call only" : "not asked for";
  } else if (!plan_.problem.operation().has_reference()) {
    verification_.reason = "the operation has no reference";
  } else {
    Stopwatch watch;
    verification_.seed =
        options.verify_seed > 0
            ? uint64_t(options.verify_seed)
            : uint64_t(value_of_rank_zero(group_, "seed", double(draw_verification_seed())));
    collective_step(group_, "expect", [&] {
      verifier_.emplace(make_verifier(options.inputs, [&] {
        Kernel reference = plan_.reference_plan(context.backend).prepare();
        reference.adopt_forward_states(timed_.kernel());
        return reference;
      }));
    });
    draw_spot_checks();
    timed_.reset_outputs_of_long_calls();
    stages_.verify_ns += watch.lap_ns();
  }
}

// Draws the batches that are checked. Every check poisons the outputs of all copies and reads one
// of them, so that a row of many outputs has a single check. All ranks check the same batches, even
// a rank that broadcasts and has no outputs.
void TrialAudit::draw_spot_checks() {
  const auto draw = [&](uint64_t begin, uint64_t end) {
    const uint64_t bits = deepbench_bits(verification_.seed, kSpotCheckStream, begin);
    spot_checks_.push_back(begin + bits % (end - begin));
  };
  const double outputs = double(verifier_->result().outputs) * double(timed_.kernel().copies());
  if (is_true_on_any_rank(group_, "many outputs", outputs > kManyOutputs))
    return draw(kSpotCheckRanges[0], kSpotCheckRanges[2]);
  for (size_t i = 0; i + 1 < std::size(kSpotCheckRanges); ++i)
    draw(kSpotCheckRanges[i], kSpotCheckRanges[i + 1]);
}

Verifier TrialAudit::make_verifier(const std::string& inputs,
                                   const Verifier::MakeReference& make_reference) {
  return Verifier(plan_.problem, timed_.facts(), static_cast<uint64_t>(plan_.options.seed), inputs,
                  verification_.seed, make_reference, group_ ? group_->rank() : 0,
                  !plan_.options.is_first_visit());
}

void TrialAudit::verify(Verifier& verifier, const std::string& when) {
  judge(verifier, "verify", [&] { return verifier.check(timed_.kernel(), when); });
}

void TrialAudit::judge(const Verifier& verifier, const std::string& step,
                       const std::function<bool()>& check) {
  Stopwatch watch;
  try {
    collective_step(group_, step, [&] {
      const bool good = check();
      verification_ = verifier.result();
      if (!good) throw RowFailure(Status::kIncorrect, verification_.reason);
    });
  } catch (const RowFailure& failure) {  // a failure of any rank
    verification_.state = Verification::State::kFailed;
    verification_.reason = failure.what();
    stages_.verify_ns += watch.lap_ns();
    throw;
  }
  stages_.verify_ns += watch.lap_ns();
}

// Whether the next batch of the measuring loop, of `count` calls, is checked. In place this
// requires a single call, or calls whose results add up.
bool TrialAudit::is_spot_check(uint64_t count) {
  const uint64_t number = batches_in_loop_++;
  const bool is_single = count == 1 && !timed_.perturbs_schedule();
  if (timed_.in_place() && !is_single && !verifier_->adds_up()) return false;
  return std::find(spot_checks_.begin(), spot_checks_.end(), number) != spot_checks_.end();
}

Batch TrialAudit::time_in_loop(uint64_t count) {
  const bool is_checked = is_spot_check(count);
  Stopwatch watch;
  if (is_checked && !timed_.resets_outputs_before(count)) timed_.reset_outputs();
  stages_.verify_ns += watch.lap_ns();
  const Batch made = timed_.time(count);
  if (!is_checked) return made;
  judge(*verifier_, "spot check", [&] {
    Stopwatch reading;
    const bool good =
        verifier_->check_briefly(timed_.kernel(), batches_in_loop_, timed_.calls_since_restore());
    // If this is the last batch, its results are not read for the first time when they are verified
    // after timing: the time of this first reading counts.
    if (timed_.outputs_reset()) first_reading_ns_ = std::max(first_reading_ns_, reading.lap_ns());
    return good;
  });
  return made;
}

void TrialAudit::audit(const Samples& samples, const MeasureOptions& options) {
  samples_ = samples;
  options_ = options;
  const double verified_call_ns = verify_last_calls();
  if (plan_.options.is_first_visit()) verify_refilled();
  Stopwatch watch;
  audit_batches(verified_call_ns);
  audit_reading();
  audit_clock();
  stages_.verify_ns += watch.lap_ns();
}

// Only the first visit refills the operands: later visits run the algorithm that it has verified.
void TrialAudit::verify_refilled() {
  if (plan_.problem.operation().needs_exact_sums(plan_.problem))
    verify_exact_sums();
  else if (is_refilled())
    verify_other_operands();
}

// Returns the time of a verified call; 0 if the verified batch is itself a sample.
double TrialAudit::verify_last_calls() {
  if (!timed_.outputs_reset()) return verify_outputs_of_next_batch(*verifier_, "after timing");
  first_reading_ns_ = std::max(first_reading_ns_, time_reading());
  verify("after timing");
  return 0;
}

// Verifies a batch like those that were timed, such as a graph of many calls. Out of place the
// batch is made twice, because the first one may suffer from caches that poisoning has cooled. In
// place a single call follows the batch, because its outputs can be compared more precisely than
// the sum of many calls. Returns the longest time of a call in such a batch.
double TrialAudit::verify_outputs_of_next_batch(Verifier& verifier, const std::string& when) {
  const bool in_place = timed_.in_place();
  double call_ns = in_place ? verify_sum_of_batch(verifier, when) : 0;
  Stopwatch watch;
  timed_.reset_outputs();
  collective_step(group_, "check reset", [&] { verifier.check_reset(timed_.kernel()); });
  for (int i = 0; i < (in_place ? 1 : 2); ++i) {
    const Batch made = timed_.batch(in_place ? 1 : samples_.batch);
    if (!in_place) call_ns = std::max(call_ns, made.per_call_ns());
  }
  first_reading_ns_ = time_reading();
  stages_.verify_ns += watch.lap_ns();
  verify(verifier, when);
  return call_ns;
}

double TrialAudit::verify_sum_of_batch(Verifier& verifier, const std::string& when) {
  Stopwatch watch;
  const double call_ns = time_after_reset(samples_.batch).per_call_ns();
  stages_.verify_ns += watch.lap_ns();
  if (samples_.batch > 1)
    judge(verifier, "verify sum",
          [&] { return verifier.check_sum(timed_.kernel(), samples_.batch, when); });
  return call_ns;
}

// Runs last in the verification, because it overwrites the operands.
void TrialAudit::verify_exact_sums() {
  Stopwatch watch;
  if (!timed_.refill("integers", static_cast<uint64_t>(plan_.options.seed))) {
    verification_.what += ", without exact sums of integers, since the operands cannot be refilled";
    return;
  }
  Verifier exact = make_verifier("integers", {});
  stages_.verify_ns += watch.lap_ns();
  Verification verification = verification_;
  verify_outputs_of_next_batch(exact, "with exact sums of integers");
  verification.what += ", and exact sums of integers";
  verification_ = verification;
}

// Whether the row makes another call with other operands. In rows of long calls that takes long, so
// that only a random share of them does.
bool TrialAudit::is_refilled() const {
  if (plan_.problem.operation().is_collective()) return false;  // every output is compared anyway
  if (median(samples_.per_call_ns) < kLongCallNs) return true;
  return deepbench_bits(verification_.seed, kRefilledRowStream, 0) % kRefilledLongRows == 0;
}

// Verifies that the outputs follow their operands: a result that was computed once and copied since
// then does not. The outputs of the last call have been verified before.
void TrialAudit::verify_other_operands() {
  Stopwatch watch;
  std::vector<double> first, other;
  collective_step(group_, "read", [&] { first = verifier_->read_some(timed_.kernel()); });
  for (uint64_t i = 0; i < kRefills; ++i) {
    if (!timed_.refill("uniform", deepbench_bits(verification_.seed, kRefillStream, i))) return;
    timed_.reset_outputs();
    timed_.batch(1);
    collective_step(group_, "read", [&] { other = verifier_->read_some(timed_.kernel()); });
    if (other != first) break;
  }
  stages_.verify_ns += watch.lap_ns();
  judge(*verifier_, "verify", [&] {
    return other != first || verifier_->fail(
                                 "with other operands: the outputs are the same: they do not come "
                                 "from the calls that are timed");
  });
  verification_.what += ", which follow the operands";
}

// Reads one output, which ends any special treatment of verified calls by the backend. A rank that
// broadcasts has no output.
void TrialAudit::read_one() {
  collective_step(group_, "read", [&] {
    if (verifier_->result().outputs > 0) timed_.kernel().read_output(0, {0});
  });
}

Batch TrialAudit::time_after_reset(uint64_t count) {
  timed_.reset_outputs();
  const Batch made = timed_.batch(count);
  read_one();
  return made;
}

// Returns the time on this rank. Excludes time for which other work held a processor, which often
// happens after a call.
double TrialAudit::time_reading() {
  double took_ns = 0;
  collective_step(group_, "read", [&] {
    ProcessorWait wait;
    Stopwatch watch;
    verifier_->read_briefly(timed_.kernel());
    took_ns = watch.lap_ns();
    took_ns = std::max(0.0, took_ns - wait.lap_ns().value_or(0));
  });
  return took_ns;
}

// Reads the poison twice, since the device may still be writing it during the first reading.
ReadingTimes TrialAudit::time_readings() {
  timed_.reset_outputs();
  time_reading();
  ReadingTimes times;
  times.poisoned_ns = time_reading();
  timed_.batch(1);
  times.computed_ns = time_reading();
  return times;
}

// Whether any rank has a suspicion. Those about a simulator do not count: its times are not the
// host's, and it may compute results when they are read.
bool TrialAudit::is_suspect(const std::string& what, bool mine) {
  return is_true_on_any_rank(group_, what, mine && !timed_.is_simulated());
}

void TrialAudit::require_no_doubt(const std::string& doubt) {
  collective_step(group_, "audit", [&] {
    if (!doubt.empty()) throw RowFailure(Status::kMistrusted, doubt);
  });
}

void TrialAudit::audit_batches(double verified_call_ns) {
  const BatchTimer plain = [&](uint64_t count) { return timed_.time_without_rest(count); };
  require_no_doubt(doubt_about_count(plain, samples_, options_));
  // With ranks, the first call includes the time until all of them have arrived.
  if (!plan_.problem.operation().is_collective()) {
    require_no_doubt(doubt_about_further_calls(plain, samples_, options_,
                                               timed_.working_threads(timed_.facts())));
    audit_call_after_reset(verified_call_ns);
  }
  if (verified_call_ns > kMaxVerifiedSlowdown * median(samples_.per_call_ns))
    require_no_doubt(doubt_about_reset(
        plain, [&](uint64_t count) { return time_after_reset(count); }, samples_, options_));
}

// Examines single calls, because batches hide work that only their first call does after the
// outputs were poisoned.
void TrialAudit::audit_call_after_reset(double verified_call_ns) {
  const double call_ns = median(samples_.per_call_ns);
  const double cost_ns = reset_cost_ns(plan_.problem.operation().work(plan_.problem).bytes,
                                       timed_.working_threads(timed_.facts()));
  if ((verified_call_ns - call_ns) * double(samples_.batch) <= cost_ns) return;
  const BatchTimer plain = idles_before_later_batches(
      [&](uint64_t count) { return timed_.time_without_rest(count); }, timed_.is_simulated());
  const BatchTimer batch = idles_before_later_batches(
      [&](uint64_t count) { return timed_.batch(count); }, timed_.is_simulated());
  const BatchTimer after_reset = [&](uint64_t count) {
    timed_.reset_outputs();
    const Batch made = batch(count);
    read_one();
    return made;
  };
  require_no_doubt(doubt_about_call_after_reset(plain, after_reset, cost_ns));
}

void TrialAudit::audit_reading() {
  const std::string step = "audit reading";
  if (!is_suspect(step, first_reading_ns_ >= suspect_reading_ns(samples_))) return;
  const std::string doubt =
      doubt_about_reading([&] { return time_readings(); }, samples_,
                          [&](bool mine) { return is_true_on_any_rank(group_, step, mine); });
  const bool may_wait = is_true_on_any_rank(group_, step, is_device_shared_);
  if (!may_wait) return require_no_doubt(doubt);
  if (!doubt.empty()) notes_.push_back(doubt + ", or other processes keep the device busy");
}

// Whether the host's overhead of a batch is known or short. It is neither for a flush, because the
// backend does not report its time, nor for the synchronization of ranks, which precedes every
// batch of a single call and every isolated call.
bool TrialAudit::is_host_time_comparable() const {
  if (timed_.facts().text("cold") == "flush") return false;
  const bool is_single = samples_.launch == "isolated" || options_.max_batch < 2;
  return !is_single || !plan_.problem.operation().is_collective();
}

// Fails the row if the clock is far off, because it then has no trustworthy rate, and adds a note
// for a smaller doubt. Returns whether there was any doubt.
bool TrialAudit::judge_clock(const ClockDoubt& doubt) {
  const std::string step = "audit clock";
  const std::string why = first_text_of_ranks(group_, step, doubt.why);
  if (is_true_on_any_rank(group_, step, doubt.is_far)) require_no_doubt(why);
  if (!why.empty()) notes_.push_back(why);
  return !why.empty();
}

// The samples for examining the clock. A batch of a collective begins with the synchronization of
// its ranks, which may take milliseconds before a call of microseconds: the host's time of such a
// batch does not tell how long the calls took.
Samples TrialAudit::samples_of_clock() const {
  Samples samples = samples_;
  if (plan_.problem.operation().is_collective()) samples.watched_ns = 0;
  return samples;
}

void TrialAudit::audit_clock() {
  const std::string step = "audit clock";
  const BatchTimer plain = [&](uint64_t count) { return timed_.time_without_rest(count); };
  const AnyRank any = [&](bool mine) { return is_true_on_any_rank(group_, step, mine); };
  if (is_host_time_comparable() && is_suspect(step, is_clock_slow(samples_)) &&
      judge_clock(doubt_about_slow_clock(plain, samples_of_clock(), options_, any)))
    return;
  if (is_suspect(step, is_clock_fast(samples_, options_)))
    judge_clock(doubt_about_fast_clock(plain, samples_, options_, any));
}

}  // namespace deepbench
