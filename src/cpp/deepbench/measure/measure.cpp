// Runs first calls, warm-up and sampling in this order, and retries throttled and disturbed
// batches.
#include "deepbench/measure/measure.hpp"

#include <algorithm>

#include "deepbench/measure/statistics.hpp"
#include "deepbench/measure/warm_up.hpp"

namespace deepbench {
namespace {

// The settled clock is the median over this many batches.
constexpr size_t kSettledClockBatches = 10;
// One more than half of the samples may be disturbed: of few samples the share says little.
constexpr int64_t kFewSamples = 2;

class MeasuringLoop {
 public:
  MeasuringLoop(const BatchTimer& time, const MeasureOptions& options)
      : time_(time), options_(options), rule_(options) {}

  Samples run() {
    warm_up(time_first_calls());
    if (options_.soak_calls > 0) rule_.take_exactly(batches_of(options_.soak_calls));
    std::optional<StopReason> stop;
    while (!(stop = rule_.decide(samples_.spent_ns))) take_sample();
    return make_result(*stop);
  }

 private:
  Batch time_batch(uint64_t count) {
    const Batch batch = time_(count);
    samples_.spent_ns += batch.spent_ns();
    samples_.rested_ns = batch.rested_ns;
    return batch;
  }

  // The first call is reported separately: it may compile, allocate and touch pages. A long first
  // call also serves as the warm-up, unless the second call shows that calls are short.
  double time_first_calls() {
    const Batch first = time_batch(1);
    samples_.first_call_ns = first.elapsed_ns;
    if (first.elapsed_ns >= options_.time_limit_ns) return first.elapsed_ns;
    const Batch second = time_batch(1);
    const bool warm = first.elapsed_ns >= kNoWarmUpNs && !options_.min_load_ns;
    if (warm && second.elapsed_ns >= kLongCallNs) {
      add_wait(second);
      disturbed_ += is_disturbed(second);
      record_sample(second);
    }
    return second.elapsed_ns;
  }

  void warm_up(double estimate_ns) {
    WarmUp warm(options_, estimate_ns);
    while (!warm.done() && samples_.spent_ns < options_.time_limit_ns)
      warm.add(time_batch(warm.batch_size()));
    samples_.batch = warm.batch_size();
    samples_.short_batch = warm.short_batch_size();
    recent_clocks_mhz_ = warm.last_clocks_mhz();
  }

  int64_t batches_of(int64_t calls) const {
    const auto batch = int64_t(samples_.batch);
    return calls / batch + (calls % batch != 0);
  }

  // Compares the clock with the settled clock of this row. A batch under the software power cap is
  // not throttled by its clock alone: large products always run under that cap.
  bool is_throttled(const Batch& batch) const {
    const double settled = recent_clocks_mhz_.empty() ? 0 : median(recent_clocks_mhz_);
    const bool slow =
        batch.clock_mhz > 0 && batch.clock_mhz < options_.throttled_clock_ratio * settled;
    return batch.throttled || (slow && !batch.power_capped);
  }

  // Whether other work held a processor of the row for a considerable part of the batch.
  bool is_disturbed(const Batch& batch) const {
    return batch.waited_ns.value_or(0) > std::max(options_.disturbed_min_wait_ns,
                                                  options_.disturbed_wait_share * batch.elapsed_ns);
  }

  // Where other work disturbs most batches, repeating one of them finds no better one.
  bool is_worth_repeating(const Batch& batch) const {
    if (options_.soak_calls > 0) return false;  // a soak records everything, throttling included
    const auto taken = static_cast<int64_t>(host_per_call_ns_.size());
    const bool is_often_alone = 2 * disturbed_ <= taken + kFewSamples;
    return is_throttled(batch) || (is_disturbed(batch) && is_often_alone);
  }

  // Adds the wait of a batch to the share of waiting if it is disturbed.
  void add_wait(const Batch& batch) {
    if (!batch.waited_ns) return;
    tried_ns_ += batch.elapsed_ns;
    if (is_disturbed(batch)) waited_ns_ += *batch.waited_ns;
    samples_.waited_share = waited_ns_ / tried_ns_;
  }

  Batch time_watched_batch() {
    const Batch batch = time_batch(samples_.batch);
    add_wait(batch);
    return batch;
  }

  // Takes one sample. A throttled or disturbed batch is retried a few times, then accepted and
  // counted as such.
  void take_sample() {
    Batch batch = time_watched_batch();
    for (int retry = 0; retry < options_.retries_per_sample && is_worth_repeating(batch); ++retry) {
      if (samples_.spent_ns >= options_.time_limit_ns) break;
      ++samples_.retries;
      batch = time_watched_batch();
    }
    disturbed_ += is_disturbed(batch);
    record_sample(batch);
  }

  void record_sample(const Batch& batch) {
    rule_.add(batch.per_call_ns(), batch.count, is_throttled(batch), batch.schedule_perturbed);
    samples_.schedule_perturbed = samples_.schedule_perturbed || batch.schedule_perturbed;
    samples_.elapsed_ns += batch.elapsed_ns;
    samples_.own_elapsed_ns += batch.own_elapsed_ns;
    samples_.watched_ns += batch.watched_ns;
    own_elapsed_ns_.push_back(batch.own_elapsed_ns);
    watched_ns_.push_back(batch.watched_ns);
    samples_.rests_ns.push_back(batch.rested_ns);
    host_per_call_ns_.push_back(batch.host_ns / static_cast<double>(batch.count));
    if (batch.clock_mhz > 0) {
      samples_.clocks_mhz.push_back(batch.clock_mhz);
      recent_clocks_mhz_.push_back(batch.clock_mhz);
      if (recent_clocks_mhz_.size() > kSettledClockBatches)
        recent_clocks_mhz_.erase(recent_clocks_mhz_.begin());
    }
    samples_.power_capped += batch.power_capped;
    if (options_.soak_calls > 0) samples_.soak.add(batch, is_throttled(batch));
    samples_.launch = batch.launch;
    samples_.timer = batch.timer;
  }

  Samples make_result(StopReason stop) {
    samples_.stop = stop;
    samples_.per_call_ns = rule_.samples();
    samples_.batches_per_sample = rule_.batches_per_sample();
    samples_.error = rule_.standard_error();
    samples_.throttled = rule_.throttled_samples();
    samples_.host_per_call_ns = median(host_per_call_ns_);
    samples_.typical_own_ns = median(own_elapsed_ns_);
    samples_.typical_watched_ns = median(watched_ns_);
    samples_.clock_mhz = samples_.clocks_mhz.empty() ? 0 : median(samples_.clocks_mhz);
    return std::move(samples_);
  }

  const BatchTimer& time_;
  const MeasureOptions options_;
  StoppingRule rule_;
  Samples samples_;
  std::vector<double> recent_clocks_mhz_;  // the latest clocks, at first those of the warm-up
  std::vector<double> host_per_call_ns_, own_elapsed_ns_, watched_ns_;
  int64_t disturbed_ = 0;                // number of disturbed samples
  double tried_ns_ = 0, waited_ns_ = 0;  // sums over all batches, repeated ones included
};

}  // namespace

Samples measure(const BatchTimer& time, const MeasureOptions& options) {
  return MeasuringLoop(time, options).run();
}

}  // namespace deepbench
