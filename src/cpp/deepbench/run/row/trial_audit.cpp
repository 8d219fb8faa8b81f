// Verification of the calls that are timed, and the comparisons of their times.
#include "deepbench/run/row/trial_audit.hpp"

#include <unistd.h>

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

// A random batch of each of these ranges of batches is checked briefly in the measuring loop.
constexpr uint64_t kSpotCheckRanges[] = {2, 6, 32, 256, 2048};
constexpr double kManyOutputs = 1 << 20;   // above them a check takes as long as many batches
constexpr uint32_t kSpotCheckStream = 22;  // of their random numbers
// Other operands give the same result by chance, such as a single one in bfloat16, once in hundreds
// of rows, and so many times in a row never.
constexpr uint64_t kRefills = 4;
constexpr uint32_t kRefillStream = 23;       // of their seeds
constexpr uint64_t kRefilledLongRows = 8;    // one of so many rows of long calls is refilled
constexpr uint32_t kRefilledRowStream = 24;  // of which

}  // namespace

// The seed is drawn now that the kernel is prepared; all ranks compare the same places.
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
    verification_.seed = static_cast<uint64_t>(
        value_of_rank_zero(group_, "seed", static_cast<double>(draw_verification_seed())));
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

// Every check poisons the outputs of all copies and reads one of them, so that rows of many outputs
// have a single check. All ranks check the same batches, also the one that broadcasts and has no
// outputs.
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
  } catch (const RowFailure& failure) {  // of any rank
    verification_.state = Verification::State::kFailed;
    verification_.reason = failure.what();
    stages_.verify_ns += watch.lap_ns();
    throw;
  }
  stages_.verify_ns += watch.lap_ns();
}

// Whether the next batch of the measuring loop, of `count` calls, is checked. In place that needs a
// single call, or calls that add up.
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
    // The results of the last of long calls are not read again for the first time.
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

// Later visits run the algorithm whose results the first one has verified with other operands.
void TrialAudit::verify_refilled() {
  if (plan_.problem.operation().needs_exact_sums(plan_.problem))
    verify_exact_sums();
  else if (is_refilled())
    verify_other_operands();
}

// Returns the time of a verified call; 0 where the batch that is verified is a sample itself.
double TrialAudit::verify_last_calls() {
  if (!timed_.outputs_reset()) return verify_outputs_of_next_batch(*verifier_, "after timing");
  first_reading_ns_ = std::max(first_reading_ns_, time_reading());
  verify("after timing");
  return 0;
}

// Verifies the batch that was timed, such as a graph of many calls. Out of place it is made twice:
// poisoning may cool caches for the first. In place a single call follows it, whose outputs are
// compared more closely than the sum of many can be. Returns the longest time of a call in such a
// batch.
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

// Refills the operands after everything else that is verified.
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

// Another call takes long in some rows, of which it is made in a random share.
bool TrialAudit::is_refilled() const {
  if (plan_.problem.operation().is_collective()) return false;  // every output is compared anyway
  if (median(samples_.per_call_ns) < kLongCallNs) return true;
  return deepbench_bits(verification_.seed, kRefilledRowStream, 0) % kRefilledLongRows == 0;
}

// A result that was computed once and is copied since then does not follow its operands. The last
// call's outputs have been verified.
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

// Ends what a backend may do for verified calls alone. A rank that broadcasts has no output.
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

// Returns the time on this rank, without that for which other work had a processor: after a call it
// often gets its turn.
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

// Reads the poison twice, since a device may still write it the first time.
ReadingTimes TrialAudit::time_readings() {
  timed_.reset_outputs();
  time_reading();
  ReadingTimes times;
  times.poisoned_ns = time_reading();
  timed_.batch(1);
  times.computed_ns = time_reading();
  return times;
}

// Whether any rank has a suspicion that does not concern a simulator, whose times are not the
// host's, and which may compute results when they are read.
bool TrialAudit::is_suspect(const std::string& what, bool mine) {
  return is_true_on_any_rank(group_, what, mine && !timed_.is_simulated());
}

void TrialAudit::require_no_doubt(const std::string& doubt) {
  collective_step(group_, "audit", [&] {
    if (!doubt.empty()) throw RowFailure(Status::kMistrusted, doubt);
  });
}

// The threads that do the work, and may have to be woken for it. The machine has no more to wake.
int64_t TrialAudit::threads() const {
  const int64_t said = timed_.facts().integer("threads", 1);
  const int64_t most = sysconf(_SC_NPROCESSORS_ONLN);
  return timed_.is_simulated() || most < 1 ? said : std::min(said, most);
}

void TrialAudit::audit_batches(double verified_call_ns) {
  const BatchTimer plain = [&](uint64_t count) { return timed_.time_without_rest(count); };
  require_no_doubt(doubt_about_count(plain, samples_, options_));
  // The first call of ranks includes their meeting.
  if (!plan_.problem.operation().is_collective()) {
    require_no_doubt(doubt_about_further_calls(plain, samples_, options_, threads()));
    audit_call_after_reset(verified_call_ns);
  }
  if (verified_call_ns > kMaxVerifiedSlowdown * median(samples_.per_call_ns))
    require_no_doubt(doubt_about_reset(
        plain, [&](uint64_t count) { return time_after_reset(count); }, samples_, options_));
}

// Batches hide what the first of their calls does alone after the outputs were poisoned.
void TrialAudit::audit_call_after_reset(double verified_call_ns) {
  const double call_ns = median(samples_.per_call_ns);
  const double cost_ns =
      reset_cost_ns(plan_.problem.operation().work(plan_.problem).bytes, threads());
  if ((verified_call_ns - call_ns) * double(samples_.batch) <= cost_ns) return;
  // The first two batches, after which most honest kernels are believed, do without.
  auto settle = [&, batches = 0]() mutable {
    if (++batches > 2 && !timed_.is_simulated()) sleep_for_ns(kSettlingNs);
  };
  const BatchTimer plain = [&](uint64_t count) {
    settle();
    return timed_.time_without_rest(count);
  };
  const BatchTimer after_reset = [&](uint64_t count) {
    timed_.reset_outputs();
    settle();
    const Batch made = timed_.batch(count);
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

// Whether the host's time of a batch, less that of its calls, is known or short. That of a flush is
// neither, because the backend does not report it. Nor is that of the meeting of ranks, which comes
// before every batch of a single call and before every isolated one.
bool TrialAudit::is_host_time_comparable() const {
  if (timed_.facts().text("cold") == "flush") return false;
  const bool is_single = samples_.launch == "isolated" || options_.max_batch < 2;
  return !is_single || !plan_.problem.operation().is_collective();
}

// A clock that is far off leaves the row without a rate. Returns whether anything is wrong with it.
bool TrialAudit::judge_clock(const ClockDoubt& doubt) {
  const std::string step = "audit clock";
  const std::string why = first_text_of_ranks(group_, step, doubt.why);
  if (is_true_on_any_rank(group_, step, doubt.is_far)) require_no_doubt(why);
  if (!why.empty()) notes_.push_back(why);
  return !why.empty();
}

// A batch of ranks begins with their meeting. The host's time of it includes the meeting, which may
// take milliseconds before a call of microseconds, and does not say how long the calls took.
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
