// Preparing, verifying and measuring one candidate.
#include "deepbench/run/row/trial.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/fill.h"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/measure/sustained_load.hpp"
#include "deepbench/run/row/collective_timing.hpp"
#include "deepbench/run/row/measuring_hooks.hpp"

namespace deepbench {
namespace {

constexpr int64_t kCallsInRange = 1 << 20;  // between restores, unless the backend sets a number
// Calls in a batch that make the barrier of the ranks negligible; with short calls the start of the
// first call matters as well.
constexpr int64_t kMinCollectiveBatch = 20, kMinShortCollectiveBatch = 200;
constexpr uint64_t kCallsAfterPerturbation = 5;  // shorter batches are not perturbed
// Filling caches adds 0.1 % to a call this long on a GPU, and tens of per cent on a CPU, where it
// affects all candidates alike.
constexpr double kNegligibleWarmUpNs = 10e6;
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
constexpr double kMaxSingleCalls = 100, kMinSingleCalls = 5, kSingleCallsNs = 2e9;

}  // namespace

Trial::Trial(const RowContext& context, const Plan& plan, Stages& stages)
    : plan_(plan),
      backend_(context.backend),
      requested_regime_(requested_regime({plan.problem, plan.options}, context.device)),
      last_level_bytes_(context.device.real("last_level_cache_bytes", 0)),
      stages_(stages),
      group_(context.group),
      hooks_(context.hooks),
      activity_(context.activity),
      launch_(static_cast<deepbench_launch>(plan.options.launch)),
      // All ranks rest for the same time, so that they stay in step.
      rest_(value_of_rank_zero(
          group_, "rest", plan.options.sustained ? 0 : context.device.real("most_clock_mhz"))) {
  collective_step(group_, "prepare", [&] { prepare(); });
  prepare_verification();
}

void Trial::prepare() {
  Stopwatch watch;
  kernel_.emplace(plan_.backend_plan().prepare());
  require_requested_caches(plan_, kernel_->facts(), last_level_bytes_);
  const double took_ns = watch.lap_ns();
  perturbs_schedule_ =
      kernel_->facts().integer("schedule_sensitive") != 0 && launch_ != DEEPBENCH_LAUNCH_ISOLATED;
  stages_.prepare_ns += took_ns;
  stages_.compiling_ns += std::fmin(took_ns, std::fmax(0.0, kernel_->facts().real("compiling_ns")));
  is_simulated_ = backend_.describe().integer("simulated_time") != 0;
  verification_.conditions = stated_conditions(plan_.problem, kernel_->facts());
}

// The seed is drawn now that the kernel is prepared; all ranks compare the same places.
void Trial::prepare_verification() {
  const Problem& problem = plan_.problem;
  const RunOptions& options = plan_.options;
  if (!options.verify || options.once) {
    verification_.reason = options.once ? "one call only" : "not asked for";
  } else if (!problem.operation().has_reference()) {
    verification_.reason = "the operation has no reference";
  } else {
    Stopwatch watch;
    verification_.seed = static_cast<uint64_t>(
        value_of_rank_zero(group_, "seed", static_cast<double>(draw_verification_seed())));
    collective_step(group_, "expect", [&] {
      verifier_.emplace(make_verifier(options.inputs, [&] {
        Kernel reference = plan_.reference_plan(backend_).prepare();
        reference.adopt_forward_states(*kernel_);
        return reference;
      }));
    });
    draw_spot_checks();
    stages_.verify_ns += watch.lap_ns();
  }
}

// Every check poisons the outputs of all copies and reads one of them, so that rows of many outputs
// have a single check.
void Trial::draw_spot_checks() {
  const auto draw = [&](uint64_t begin, uint64_t end) {
    const uint64_t bits = deepbench_bits(verification_.seed, kSpotCheckStream, begin);
    spot_checks_.push_back(begin + bits % (end - begin));
  };
  const double outputs = double(verifier_->result().outputs) * double(kernel_->copies());
  if (outputs > kManyOutputs) return draw(kSpotCheckRanges[0], kSpotCheckRanges[2]);
  for (size_t i = 0; i + 1 < std::size(kSpotCheckRanges); ++i)
    draw(kSpotCheckRanges[i], kSpotCheckRanges[i + 1]);
}

Verifier Trial::make_verifier(const std::string& inputs,
                              const Verifier::MakeReference& make_reference) {
  return Verifier(plan_.problem, kernel_->facts(), static_cast<uint64_t>(plan_.options.seed),
                  inputs, verification_.seed, make_reference, group_ ? group_->rank() : 0);
}

uint64_t Trial::calls_between_restores() const {
  return static_cast<uint64_t>(
      std::max<int64_t>(1, kernel_->facts().integer("restore_every", kCallsInRange)));
}

// In-place results grow with every call: the operand is restored, outside the span, before it
// overflows. Before every batch of long calls the outputs are poisoned, so that the last batch can
// be verified without another call; in place that needs a batch of one call, which the batches of a
// short call are not, even if other work on the machine delays one of them.
void Trial::restore_if_needed(uint64_t count) {
  const bool is_verifiable = count == 1 || !kernel_->in_place();
  outputs_reset_ = verifier_ && is_verifiable && last_call_ns_ >= kLongCallNs;
  if (outputs_reset_) {
    reset_outputs();
  } else if (kernel_->in_place() && calls_since_restore_ + count > calls_between_restores()) {
    collective_step(group_, "restore", [&] { kernel_->restore(); });
  } else {
    calls_since_restore_ += count;
    return;
  }
  calls_since_restore_ = count;
}

void Trial::reset_outputs() {
  collective_step(group_, "reset outputs", [&] { Verifier::reset_outputs(*kernel_); });
}

Batch Trial::batch(uint64_t count, deepbench_launch launch, uint32_t flags) {
  const Batch batch = slowest_batch(group_, count, [&] {
    Stopwatch watch;
    Batch mine = kernel_->time_batch(count, launch, flags);
    mine.watched_ns = watch.lap_ns();
    if (!is_simulated_) mine.longest_watched_ns = mine.watched_ns;
    mine.own_elapsed_ns = mine.elapsed_ns;
    local_call_ns_ = mine.per_call_ns();
    return mine;
  });
  stages_.device_ns += batch.elapsed_ns;
  if (activity_) activity_->add_batch();
  if (hooks_) hooks_->after_batch();
  return batch;
}

double Trial::rest_if_due() {
  const double due_ns = rest_.next_rest_ns();
  if (due_ns > 0) stages_.rest_ns += sleep_for_ns(due_ns);
  return due_ns;
}

// Asks the backend to perturb the kernel's schedule and makes the calls that settle it.
double Trial::perturb_schedule() {
  restore_if_needed(kCallsAfterPerturbation);
  return batch(kCallsAfterPerturbation, launch_, DEEPBENCH_REQUEST_PERTURB).spent_ns();
}

Batch Trial::time(uint64_t count) {
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

Batch Trial::time_without_rest(uint64_t count) {
  restore_if_needed(count);
  const Batch made = batch(count, launch_);
  last_call_ns_ = made.per_call_ns();
  return made;
}

void Trial::verify(Verifier& verifier, const std::string& when) {
  judge(verifier, "verify", [&] { return verifier.check(*kernel_, when); });
}

void Trial::judge(const Verifier& verifier, const std::string& step,
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

// Makes the batch that was timed, such as a graph of many calls, twice more: poisoning may cool
// caches for the first. Results in place add up over calls, so that only one call is verified, and
// a batch of its own is timed. Returns the longer time of a call.
double Trial::verify_outputs_of_next_batch(Verifier& verifier, const std::string& when) {
  Stopwatch watch;
  double call_ns = 0;
  if (kernel_->in_place()) call_ns = time_after_reset(samples_->batch).per_call_ns();
  reset_outputs();
  collective_step(group_, "check reset", [&] { verifier.check_reset(*kernel_); });
  for (int i = 0; i < (kernel_->in_place() ? 1 : 2); ++i) {
    const Batch made = batch(kernel_->in_place() ? 1 : samples_->batch, launch_);
    if (!kernel_->in_place()) call_ns = std::max(call_ns, made.per_call_ns());
  }
  first_reading_ns_ = time_reading();
  stages_.verify_ns += watch.lap_ns();
  verify(verifier, when);
  return call_ns;
}

// Whether the next batch of the measuring loop, of `count` calls, is checked. Results of several
// calls in place add up and cannot be.
bool Trial::is_spot_check(uint64_t count) {
  const uint64_t number = batches_in_loop_++;
  if (!verifier_ || (kernel_->in_place() && (count > 1 || perturbs_schedule_))) return false;
  return std::find(spot_checks_.begin(), spot_checks_.end(), number) != spot_checks_.end();
}

Batch Trial::time_in_loop(uint64_t count) {
  const bool is_checked = is_spot_check(count);
  Stopwatch watch;
  if (is_checked && last_call_ns_ < kLongCallNs) reset_outputs();
  stages_.verify_ns += watch.lap_ns();
  const Batch made = time(count);
  if (!is_checked) return made;
  judge(*verifier_, "spot check", [&] {
    Stopwatch reading;
    const bool good = verifier_->check_briefly(*kernel_, batches_in_loop_);
    // The results of the last of long calls are not read again for the first time.
    if (outputs_reset_) first_reading_ns_ = std::max(first_reading_ns_, reading.lap_ns());
    return good;
  });
  return made;
}

// Reads an element, which ends what a backend may do for verified calls alone.
Batch Trial::time_after_reset(uint64_t count) {
  reset_outputs();
  const Batch made = batch(count, launch_);
  collective_step(group_, "read", [&] { kernel_->read_output(0, {0}); });
  return made;
}

// Returns the time on this rank.
double Trial::time_reading() {
  double took_ns = 0;
  collective_step(group_, "read", [&] {
    Stopwatch watch;
    verifier_->read_briefly(*kernel_);
    took_ns = watch.lap_ns();
  });
  return took_ns;
}

// Reads the poison twice, since a device may still write it the first time.
ReadingTimes Trial::time_readings() {
  reset_outputs();
  time_reading();
  ReadingTimes times;
  times.poisoned_ns = time_reading();
  batch(1, launch_);
  times.computed_ns = time_reading();
  return times;
}

// Whether any rank has a suspicion that does not concern a simulator, whose times are not the
// host's, and which may compute results when they are read.
bool Trial::is_suspect(const std::string& what, bool mine) {
  return is_true_on_any_rank(group_, what, mine && !is_simulated_);
}

void Trial::require_no_doubt(const std::string& doubt) {
  collective_step(group_, "audit", [&] {
    if (!doubt.empty()) throw RowFailure(Status::kMistrusted, doubt);
  });
}

// Comes after the samples, which it does not affect.
void Trial::audit(const MeasureOptions& options, double verified_call_ns) {
  Stopwatch watch;
  const BatchTimer plain = [&](uint64_t count) { return time_without_rest(count); };
  require_no_doubt(doubt_about_count(plain, *samples_, options));
  // The first call of ranks includes their meeting.
  if (!plan_.problem.operation().is_collective())
    require_no_doubt(doubt_about_further_calls(plain, *samples_, options,
                                               kernel_->facts().integer("threads", 1)));
  if (verified_call_ns > kMaxVerifiedSlowdown * median(samples_->per_call_ns))
    require_no_doubt(doubt_about_reset(
        plain, [&](uint64_t count) { return time_after_reset(count); }, *samples_, options));
  audit_reading();
  audit_clock(options);
  stages_.verify_ns += watch.lap_ns();
}

void Trial::audit_reading() {
  const std::string step = "audit reading";
  if (!is_suspect(step, first_reading_ns_ >= suspect_reading_ns(*samples_))) return;
  require_no_doubt(
      doubt_about_reading([&] { return time_readings(); }, *samples_,
                          [&](bool mine) { return is_true_on_any_rank(group_, step, mine); }));
}

void Trial::audit_clock(const MeasureOptions& options) {
  const std::string step = "audit clock";
  const BatchTimer plain = [&](uint64_t count) { return time_without_rest(count); };
  const AnyRank any = [&](bool mine) { return is_true_on_any_rank(group_, step, mine); };
  if (is_suspect(step, is_clock_slow(*samples_)))
    clock_note_ =
        first_text_of_ranks(group_, step, doubt_about_slow_clock(plain, *samples_, options, any));
  if (clock_note_.empty() && is_suspect(step, is_clock_fast(*samples_, options)))
    clock_note_ =
        first_text_of_ranks(group_, step, doubt_about_fast_clock(plain, *samples_, options, any));
}

// Returns false, with the operands unchanged, if the kernel cannot be refilled.
bool Trial::refill(const std::string& inputs, uint64_t seed) {
  bool refilled = false;
  collective_step(group_, "refill", [&] { refilled = kernel_->refill(inputs, seed); });
  return refilled;
}

// Later calls, which measure energy, have the row's inputs again.
void Trial::refill_first_inputs() {
  const RunOptions& options = plan_.options;
  collective_step(group_, "refill", [&] {
    if (!kernel_->refill(options.inputs, static_cast<uint64_t>(options.seed)))
      throw RowFailure(Status::kFailed, "refill: the first inputs cannot be brought back");
  });
}

// Comes last, so that it affects no sample.
void Trial::verify_exact_sums() {
  Stopwatch watch;
  if (!refill("integers", static_cast<uint64_t>(plan_.options.seed))) {
    verification_.what += ", without exact sums of integers, since the operands cannot be refilled";
    return;
  }
  Verifier exact = make_verifier("integers", {});
  stages_.verify_ns += watch.lap_ns();
  Verification verification = verification_;
  verify_outputs_of_next_batch(exact, "with exact sums of integers");
  watch.lap_ns();
  refill_first_inputs();
  stages_.verify_ns += watch.lap_ns();
  verification.what += ", and exact sums of integers";
  verification_ = verification;
}

// Another call takes long in some rows, of which it is made in a random share.
bool Trial::is_refilled() const {
  if (median(samples_->per_call_ns) < kLongCallNs) return true;
  return deepbench_bits(verification_.seed, kRefilledRowStream, 0) % kRefilledLongRows == 0;
}

// A result that was computed once and is copied since then does not follow its operands. The last
// call's outputs have been verified.
void Trial::verify_other_operands() {
  Stopwatch watch;
  std::vector<double> first, other;
  collective_step(group_, "read", [&] { first = verifier_->read_some(*kernel_); });
  for (uint64_t i = 0; i < kRefills; ++i) {
    if (!refill("uniform", deepbench_bits(verification_.seed, kRefillStream, i))) return;
    reset_outputs();
    batch(1, launch_);
    collective_step(group_, "read", [&] { other = verifier_->read_some(*kernel_); });
    if (other != first) break;
  }
  refill_first_inputs();
  stages_.verify_ns += watch.lap_ns();
  judge(*verifier_, "verify", [&] {
    return other != first || verifier_->fail(
                                 "with other operands: the outputs are the same: they do not come "
                                 "from the calls that are timed");
  });
  verification_.what += ", which follow the operands";
}

// All ranks load their devices alike.
bool Trial::was_idle() {
  const bool idle = !activity_ || activity_->was_idle();
  return value_of_rank_zero(group_, "idle", idle ? 1 : 0) != 0;
}

Measurement Trial::measure(const MeasureOptions& how) {
  MeasureOptions options = how;
  if (options.min_load_ns && !was_idle()) options.min_load_ns = 0;
  if (kernel_->in_place())
    options.max_batch = std::min<int64_t>(options.max_batch, int64_t(calls_between_restores()));
  if (kernel_->facts().text("cold") == "flush") options.max_batch = 1;
  options.rotation = kernel_->facts().integer("copies", 1);
  if (kernel_->facts().integer("ranks", 1) > 1) {
    options.min_batch = std::min(kMinCollectiveBatch, options.max_batch);
    options.min_short_batch = std::min(kMinShortCollectiveBatch, options.max_batch);
  }
  if (verifier_) reset_outputs();

  bool first = true;
  double verifying_ns = stages_.verify_ns;
  Stopwatch watch;
  samples_ = deepbench::measure(
      [&](uint64_t count) {
        const Batch batch = time_in_loop(count);
        if (first && verifier_) verify(*verifier_, "before timing");
        if (first && hooks_) hooks_->before_warm_up();
        first = false;
        return batch;
      },
      options);
  if (hooks_) hooks_->after_samples([&] { time(samples_->batch); });
  verifying_ns = stages_.verify_ns - verifying_ns;
  stages_.measure_ns += watch.lap_ns() - verifying_ns;

  if (verifier_) {
    double verified_call_ns = 0;  // unknown, or of batches that are samples
    if (outputs_reset_) {
      first_reading_ns_ = std::max(first_reading_ns_, time_reading());
      verify(*verifier_, "after timing");
    } else {
      verified_call_ns = verify_outputs_of_next_batch(*verifier_, "after timing");
    }
    if (plan_.problem.operation().needs_exact_sums(plan_.problem))
      verify_exact_sums();
    else if (is_refilled())
      verify_other_operands();
    audit(options, verified_call_ns);
  }
  return measurement();
}

// The first call loads the kernel. A second one estimates its time and refills the caches, which
// other trials have used; later samples of long calls skip it. A call above `max_call_ns` may have
// been delayed once, so that two of them are required.
void Trial::warm_up(double max_call_ns) {
  const bool first = last_call_ns_ == 0;
  int too_long = 0;
  const auto call = [&] {
    time(1);
    too_long += last_call_ns_ > max_call_ns;
  };
  if (first) call();
  if (last_call_ns_ < (first ? kLongCallNs : kNegligibleWarmUpNs)) call();
  if (last_call_ns_ > max_call_ns && too_long == 1) call();
}

std::vector<double> Trial::sample(int count, double span_ns, double max_call_ns) {
  Stopwatch watch;
  warm_up(max_call_ns);
  std::vector<double> samples;
  if (last_call_ns_ > max_call_ns) {
    samples.push_back(last_call_ns_);
    count = 0;
  }
  const uint64_t most = kernel_->in_place() ? calls_between_restores() : kCallsInRange;
  const auto batch =
      static_cast<uint64_t>(std::clamp(std::ceil(span_ns / last_call_ns_), 1.0, double(most)));
  for (int i = 0; i < count; ++i) samples.push_back(time(batch).per_call_ns());
  stages_.measure_ns += watch.lap_ns();
  return samples;
}

void Trial::resume(const Samples& samples) {
  Stopwatch watch;
  samples_ = samples;
  time_without_rest(samples.batch);
  stages_.measure_ns += watch.lap_ns();
}

std::vector<double> Trial::time_single_calls() {
  Stopwatch watch;
  const double fitting = kSingleCallsNs / median(samples_->per_call_ns);
  const double count = std::clamp(fitting, kMinSingleCalls, kMaxSingleCalls);
  std::vector<double> mine_ns;
  while (double(mine_ns.size()) < count) {
    restore_if_needed(1);
    batch(1, DEEPBENCH_LAUNCH_ISOLATED);
    mine_ns.push_back(local_call_ns_);
  }
  stages_.measure_ns += watch.lap_ns();
  return mine_ns;
}

uint64_t Trial::run_for(double span_ns) {
  Stopwatch watch;
  uint64_t calls = 0;
  for (double spent_ns = 0; spent_ns < span_ns; calls += samples_->batch)
    spent_ns += time_without_rest(samples_->batch).elapsed_ns;
  stages_.measure_ns += watch.lap_ns();
  return calls;
}

Measurement Trial::run_once() {
  Stopwatch watch;
  if (hooks_) hooks_->before_warm_up();
  const Batch one = batch(1, DEEPBENCH_LAUNCH_BEST, DEEPBENCH_REQUEST_MARKERS);
  Samples samples;
  samples.per_call_ns = {one.per_call_ns()};
  samples.first_call_ns = one.per_call_ns();
  samples.host_per_call_ns = one.host_ns;
  samples.spent_ns = one.host_ns;
  samples.error = std::numeric_limits<double>::infinity();
  samples.clock_mhz = one.clock_mhz;
  samples.stop = StopReason::kTooFew;
  samples.launch = one.launch;
  samples.timer = one.timer;
  samples_ = samples;
  stages_.measure_ns += watch.lap_ns();
  return measurement();
}

Measurement Trial::measurement() const {
  Measurement measurement =
      describe_measurement(plan_, requested_regime_, kernel_->facts(), samples_, verification_);
  if (!clock_note_.empty()) measurement.notes.push_back(clock_note_);
  return measurement;
}

}  // namespace deepbench
