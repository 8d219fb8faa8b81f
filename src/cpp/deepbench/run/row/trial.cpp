// Decides which calls of one candidate are made, and measures their times.
#include "deepbench/run/row/trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "deepbench/core/blake2s.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/core/stratified_sample.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/measure/sustained_load.hpp"
#include "deepbench/run/row/collective_timing.hpp"
#include "deepbench/run/row/measuring_hooks.hpp"

namespace deepbench {
namespace {

// Batches of at least this many calls make the barrier of the ranks negligible. With short calls,
// the start of the first call matters as well.
constexpr int64_t kMinCollectiveBatch = 20, kMinShortCollectiveBatch = 200;
// Calls this long need no warm-up: filling the caches adds 0.1 % on a GPU, and tens of percent on a
// CPU, where it affects all candidates alike.
constexpr double kNegligibleWarmUpNs = 10e6;
constexpr double kMaxSingleCalls = 100, kMinSingleCalls = 5, kSingleCallsNs = 2e9;
constexpr double kMaxRepeatedCalls = 100, kMinRepeatedCalls = 2, kRepeatedCallsNs = 5e8;
constexpr int64_t kSampledOutputs = 4096;  // outputs that all ranks compare after a repeated call
constexpr uint32_t kRepeatedCalls = 41;    // random stream of their places
constexpr size_t kHashBytes = 16;

std::vector<uint64_t> sampled_places(uint64_t outputs, uint64_t seed) {
  if (outputs == 0) return {};
  const auto size = int64_t(outputs);
  const std::vector<int64_t> places =
      stratified_sample(size, std::min(size, kSampledOutputs), seed, kRepeatedCalls);
  return {places.begin(), places.end()};
}

std::string hash_of(const std::vector<double>& values) {
  const std::string_view bytes(reinterpret_cast<const char*>(values.data()),
                               values.size() * sizeof(double));
  return blake2s("", bytes, kHashBytes);
}

}  // namespace

Trial::Trial(const RowContext& context, const Plan& plan, Stages& stages)
    : plan_(plan),
      requested_regime_(requested_regime({plan.problem, plan.options}, context.device)),
      stages_(stages),
      group_(context.group),
      hooks_(context.hooks),
      activity_(context.activity),
      timed_(context, plan, stages),
      audit_(context, plan, timed_, stages) {}

// Returns the answer of rank 0 on all ranks, because they load their devices alike.
bool Trial::was_idle() {
  const bool idle = !activity_ || activity_->was_idle();
  return value_of_rank_zero(group_, "idle", idle ? 1 : 0) != 0;
}

// Each rank has limits of its own device and kernel. They keep the strictest, since ranks that plan
// differently would be at different steps.
MeasureOptions Trial::strictest_of_ranks(const MeasureOptions& mine) {
  const std::vector<double> agreed = smallest_of_ranks(
      group_, "planning",
      {mine.time_limit_ns, -mine.min_span_ns, -mine.min_total_ns, -mine.timer_resolution_ns,
       double(mine.max_batch), -double(mine.rotation)});
  MeasureOptions options = mine;
  options.time_limit_ns = agreed.at(0);
  options.min_span_ns = -agreed.at(1);
  options.min_total_ns = -agreed.at(2);
  options.timer_resolution_ns = -agreed.at(3);
  options.max_batch = int64_t(agreed.at(4));
  options.rotation = int64_t(-agreed.at(5));
  return options;
}

// The options as the kernels and the devices of all ranks permit them.
MeasureOptions Trial::adapted(const MeasureOptions& how) {
  MeasureOptions options = how;
  if (options.min_load_ns && !was_idle()) options.min_load_ns = 0;
  options.max_batch =
      std::min<int64_t>(options.max_batch, int64_t(timed_.calls_between_restores()));
  if (facts().text("cold") == "flush") options.max_batch = 1;
  options.rotation = facts().integer("copies", 1);
  options = strictest_of_ranks(options);
  if (facts().integer("ranks", 1) > 1) {
    options.min_batch = std::min(kMinCollectiveBatch, options.max_batch);
    options.min_short_batch = std::min(kMinShortCollectiveBatch, options.max_batch);
  }
  return options;
}

Measurement Trial::measure(const MeasureOptions& how) {
  const MeasureOptions options = adapted(how);
  if (audit_.verifies()) timed_.reset_outputs();

  bool first = true;
  double verifying_ns = stages_.verify_ns;
  Stopwatch watch;
  timed_.rest_after_sustained_load();
  timed_.begin_watching_waits();
  samples_ = deepbench::measure(
      [&](uint64_t count) {
        const Batch batch = audit_.verifies() ? audit_.time_in_loop(count) : timed_.time(count);
        if (first && audit_.verifies()) audit_.verify("before timing");
        if (first && hooks_) hooks_->before_warm_up();
        first = false;
        return batch;
      },
      options);
  timed_.end_watching_waits();
  if (hooks_) hooks_->after_samples([&] { timed_.time(samples_->batch); });
  verifying_ns = stages_.verify_ns - verifying_ns;
  stages_.measure_ns += watch.lap_ns() - verifying_ns;
  if (audit_.verifies()) audit_.audit(*samples_, options);
  return measurement();
}

// The first call loads the kernel. The second one estimates the time and refills the caches, which
// other trials have used; later samples of long calls omit it. A single call above `max_call_ns`
// may have been delayed, so that it is repeated once.
void Trial::warm_up(double max_call_ns) {
  const bool first = timed_.last_call_ns() == 0;
  int too_long = 0;
  const auto call = [&] {
    timed_.time(1);
    too_long += timed_.last_call_ns() > max_call_ns;
  };
  if (first) call();
  if (timed_.last_call_ns() < (first ? kLongCallNs : kNegligibleWarmUpNs)) call();
  if (timed_.last_call_ns() > max_call_ns && too_long == 1) call();
}

std::vector<double> Trial::sample(int count, double span_ns, double max_call_ns) {
  Stopwatch watch;
  warm_up(max_call_ns);
  const double call_ns = timed_.last_call_ns();
  std::vector<double> samples;
  if (call_ns > max_call_ns) {
    samples.push_back(call_ns);
    count = 0;
  }
  const auto batch = static_cast<uint64_t>(
      std::clamp(std::ceil(span_ns / call_ns), 1.0, double(timed_.calls_between_restores())));
  for (int i = 0; i < count; ++i) samples.push_back(timed_.time(batch).per_call_ns());
  stages_.measure_ns += watch.lap_ns();
  return samples;
}

void Trial::resume(const Samples& samples) {
  Stopwatch watch;
  samples_ = samples;
  timed_.time_without_rest(samples.batch);
  stages_.measure_ns += watch.lap_ns();
}

std::vector<double> Trial::time_single_calls() {
  Stopwatch watch;
  timed_.require_first_inputs();
  const double fitting = kSingleCallsNs / median(samples_->per_call_ns);
  const double count = std::clamp(fitting, kMinSingleCalls, kMaxSingleCalls);
  std::vector<double> mine_ns;
  while (double(mine_ns.size()) < count) mine_ns.push_back(timed_.time_isolated_call());
  stages_.measure_ns += watch.lap_ns();
  return mine_ns;
}

RepeatedCalls Trial::repeat_calls() {
  RepeatedCalls made;
  Stopwatch watch;
  const auto seed = static_cast<uint64_t>(plan_.options.seed);
  if (!audit_.verifies() || !timed_.refill("mantissas", seed)) return made;
  const uint64_t outputs = audit_.outputs();  // 0 on a rank that broadcasts
  const std::vector<uint64_t> places = sampled_places(outputs, seed);
  double calls = kMaxRepeatedCalls;
  while (double(made.projections.size()) < calls) {
    Stopwatch call;
    timed_.reset_outputs();
    timed_.batch(1);
    collective_step(group_, "project", [&] {
      Kernel& kernel = timed_.kernel();
      made.projections.push_back(outputs > 0 ? kernel.project_output(0, 1, outputs, seed).front()
                                             : 0);
      made.samples.push_back(outputs > 0 ? hash_of(kernel.read_output(0, places)) : "");
    });
    if (made.projections.size() > 1) continue;
    const double fitting = std::floor(kRepeatedCallsNs / call.lap_ns());
    calls = value_of_rank_zero(group_, "repeated calls",
                               std::clamp(fitting, kMinRepeatedCalls, kMaxRepeatedCalls));
  }
  made.expected = expected_on_rank(plan_.problem, facts(), group_ ? group_->rank() : 0);
  timed_.require_first_inputs();
  stages_.verify_ns += watch.lap_ns();
  return made;
}

Trial::Span Trial::run_for(double span_ns) {
  Stopwatch watch;
  timed_.require_first_inputs();
  Span span;
  for (; span.elapsed_ns < span_ns; span.calls += samples_->batch)
    span.elapsed_ns += timed_.time_without_rest(samples_->batch).elapsed_ns;
  stages_.measure_ns += watch.lap_ns();
  return span;
}

Measurement Trial::run_once() {
  Stopwatch watch;
  if (hooks_) hooks_->before_warm_up();
  const Batch one = timed_.batch(1, DEEPBENCH_LAUNCH_BEST, DEEPBENCH_REQUEST_MARKERS);
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
      describe_measurement(plan_, requested_regime_, facts(), samples_, verification());
  const std::vector<std::string>& doubts = audit_.notes();
  measurement.notes.insert(measurement.notes.end(), doubts.begin(), doubts.end());
  return measurement;
}

}  // namespace deepbench
