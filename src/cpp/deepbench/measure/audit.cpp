// Times interleaved batches and decides whether they cast doubt on the samples.
#include "deepbench/measure/audit.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>
#include <vector>

#include "deepbench/core/stopwatch.hpp"
#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr size_t kRounds = 9;            // all of so many rounds must cast doubt
constexpr size_t kFirstCallRounds = 18;  // the same for single calls, which are short
constexpr int kClockRounds = 15;         // the most rounds in which two clocks are compared
constexpr int kMinClockRounds = 9;  // the fewest; in fewer, each batch of one size may be delayed
// Twice the calls take at least 1.5 times as long, and other multiples in proportion.
constexpr double kMinGrowth = 0.75;
// For doubt_about_further_calls: the least number of calls in a long batch, how many times as long
// as a further call the first one may take, and the times in which a device begins and in which
// each thread wakes. Events of GPUs take up to 5 us.
constexpr uint64_t kFewCalls = 8;
constexpr double kMaxFirstCall = 1.6, kBeginningNs = 50e3, kWakingNs = 5e3;
// The rate at which a device reads operands that poisoning has evicted from its caches or its
// memory.
constexpr double kColdBytesPerNs = 2;
// In a batch of this many calls the first one, whose operands are not in the caches, is negligible.
constexpr uint64_t kCoolingCalls = 8;
// The largest plausible ratio of the host's time to the device's. Graphs and streams of an H200
// reach 1.0 to 1.4.
constexpr double kMaxHostTime = 1.6;
// Host time of a batch whose calls do nothing, and its fluctuation.
constexpr double kEmptyBatchNs = 1e3;
// Clocks whose times differ by this factor did not time the same calls: the time that a span
// excludes is only a fraction of it.
constexpr double kFarTime = 4;
// Launching one call, waiting for it and waking up afterwards take about 10 us, or 100 us where a
// thread sleeps meanwhile. A launch does not take ten times as long.
constexpr double kNoLaunchNs = 1e6;
// The largest plausible ratio of the device's time to the host's, whose clocks may differ in rate.
constexpr double kMaxShownTime = 1.1;
// Ticks of the backend's clock by which a batch may seem longer than it is.
constexpr double kTicks = 2;
// Batches of a clock that seems far off grow to this host time. Delays before a batch begins, such
// as ranks that wait for a processor, are shorter than kSettlingNs.
constexpr double kLongBatchNs = 4 * kSettlingNs;
// Caches, small copies and waits for a device explain differences below this one.
constexpr double kMinHiddenNs = 200e3;
// Reading computed results may take up to this many times as long as reading poisoned ones.
constexpr double kMaxReadingTime = 2;

uint64_t most_calls(const MeasureOptions& options) {
  return static_cast<uint64_t>(options.max_batch);
}
double waking_ns(int64_t threads) {
  return kBeginningNs + kWakingNs * double(std::clamp<int64_t>(threads, 1, 1024));
}
double smallest(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}
double largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

// About half of the calls of a batch. The size of a batch of the warm-up is preferred, since a
// device may have recorded such a batch, and recording another one takes longer than running it.
uint64_t about_half(const Samples& samples, uint64_t whole) {
  const uint64_t known = samples.short_batch;
  const bool is_near = whole == samples.batch && 3 * known >= whole && 3 * known <= 2 * whole;
  return is_near ? known : whole / 2;
}

std::string microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g us", ns / 1e3);
  return text;
}

std::string calls_take(uint64_t count) {
  return count == 1 ? "1 call takes " : std::to_string(count) + " calls take ";
}

bool shows_too_much(double shown_ns, double watched_ns, double tolerance_ns) {
  return shown_ns > kMaxShownTime * watched_ns + tolerance_ns;
}

// The time of a call by the clock of this rank; `per_call_ns` of the samples is the slowest rank's.
double own_call_ns(const Samples& samples) {
  return samples.own_elapsed_ns / samples.elapsed_ns * median(samples.per_call_ns);
}

// The host time of a call of the samples; 0 if it is unknown.
double watched_call_ns(const Samples& samples) {
  const auto batches = double(samples.per_call_ns.size() * samples.batches_per_sample);
  return samples.watched_ns / (batches * double(samples.batch));
}

// Makes batches that all begin at the same copy of the operands, so that a device that has recorded
// one makes the next one of its size from it: further calls complete the last rotation. Where that
// takes long, batches begin where the last one stopped. The ranks of a collective, whose clocks
// differ, make the same calls.
BatchTimer aligned_batches(const BatchTimer& plain, const Samples& samples,
                           const MeasureOptions& options, const AnyRank& any) {
  const uint64_t rotation = std::max<uint64_t>(1, uint64_t(options.rotation));
  const double call_ns = std::max(own_call_ns(samples), watched_call_ns(samples));
  const bool is_long = double(rotation) * call_ns > kSettlingNs || rotation > most_calls(options);
  if (any(is_long) || rotation == 1) return plain;
  return [=](uint64_t count) {
    const Batch batch = plain(count);
    if (const uint64_t begun = count % rotation; begun != 0) plain(rotation - begun);
    return batch;
  };
}

// The part of a batch's device time that may count in favor of the clock. Time that the host did
// not see pass does not count. Neither does time by which a call now takes more than twice as long
// as in the samples: a clock that is right only while it is watched proves nothing about them. But
// where a call also exceeds twice the host's time of the samples, it has become slower, and the
// excess counts.
double fitting_ns(const Batch& batch, const Samples& samples) {
  const double calls = kMaxVerifiedSlowdown * double(batch.count);
  const double fits_ns = own_call_ns(samples) * calls;
  const double shown_ns = std::min(batch.own_elapsed_ns, batch.watched_ns);
  const double known_ns = std::min(shown_ns, watched_call_ns(samples) * calls);
  return shown_ns - std::max(0.0, known_ns - fits_ns);
}

// The second of two batches: the first one of a size may prepare what later ones reuse.
Batch prepared_batch(const BatchTimer& plain, uint64_t count) {
  plain(count);
  return plain(count);
}

// The host time of a batch that its device time does not cover.
double unseen_ns(const BatchTimer& plain, uint64_t count, const Samples& samples) {
  const Batch batch = prepared_batch(plain, count);
  return batch.watched_ns - fitting_ns(batch, samples);
}

std::string reset_text(const std::string& call, double reset_ns, double plain_ns) {
  return call + " takes " + microseconds(reset_ns) + " after its outputs were poisoned and " +
         microseconds(plain_ns) +
         " otherwise: the calls that are timed do less than those that are verified";
}

std::string slow_clock_text(uint64_t calls, double shown_ns, double host_ns) {
  return calls_take(calls) + microseconds(shown_ns) + " by the backend's clock and " +
         microseconds(host_ns) + " by the host's: the clock is wrong, or not all calls are timed";
}

// Doubts a slow clock where the host's overhead of a batch is unknown.
ClockDoubt doubt_about_slow_clock_of_launches(const BatchTimer& plain, const Samples& samples,
                                              const AnyRank& any) {
  const auto is_far = [](double watched_ns, double shown_ns, double launches) {
    return watched_ns > kFarTime * shown_ns + kNoLaunchNs * launches;
  };
  const auto calls = double(samples.batch);
  const auto batches = double(samples.per_call_ns.size() * samples.batches_per_sample);
  const double shown_ns = own_call_ns(samples) * calls;
  bool doubted = is_far(samples.watched_ns, samples.own_elapsed_ns, calls * batches);
  double least_ns = std::numeric_limits<double>::infinity();
  for (size_t round = 0; round < kRounds && any(doubted); ++round) {
    least_ns = std::min(least_ns, plain(samples.batch).watched_ns);
    doubted = doubted && is_far(least_ns, shown_ns, calls);
  }
  if (!doubted) return {};
  return {slow_clock_text(samples.batch, shown_ns, least_ns), true};
}

// Whether a clock that seems far off in batches of `calls` stays so in each of several long
// batches. A delay before the clock of a batch begins does not grow with the batch.
bool stays_far_off(const BatchTimer& plain, uint64_t calls, const Samples& samples,
                   const MeasureOptions& options, const AnyRank& any, bool mine) {
  const auto takes_long = [&] { return prepared_batch(plain, calls).watched_ns >= kLongBatchNs; };
  bool is_long = any(takes_long());
  while (!is_long && calls < most_calls(options)) {
    calls = std::min(2 * calls, most_calls(options));
    is_long = any(takes_long());
  }
  const double least_hidden_ns = is_long ? kSettlingNs : kMinHiddenNs;
  plain(calls / 2);  // may prepare what later batches of its size use again
  for (size_t round = 0; round < kRounds && any(mine); ++round) {
    const Batch half = plain(calls / 2), whole = plain(calls);
    const double shown_ns = std::max(0.0, fitting_ns(whole, samples) - fitting_ns(half, samples));
    const double more_ns = whole.watched_ns - half.watched_ns - shown_ns;
    mine = mine && more_ns > (kFarTime - 1) * shown_ns && more_ns > least_hidden_ns;
  }
  return mine;
}

}  // namespace

std::string doubt_about_count(const BatchTimer& plain, const Samples& samples,
                              const MeasureOptions& options, uint64_t many) {
  if (samples.batch < 2) return "";
  const auto most = static_cast<uint64_t>(options.max_batch);
  uint64_t whole = std::min(samples.batch, most);
  uint64_t part = about_half(samples, whole);
  const auto grows = [&](double part_ns, double whole_ns) {
    return whole_ns >= kMinGrowth * double(whole) / double(part) * part_ns;
  };
  std::vector<double> parts_ns, wholes_ns;
  while (wholes_ns.size() < kRounds) {
    const double part_ns = plain(part).undisturbed_ns();
    const double whole_ns = plain(whole).elapsed_ns;
    if (grows(part_ns, whole_ns)) return "";
    if (whole_ns >= kSettlingNs || whole >= many) {
      parts_ns.push_back(part_ns);
      wholes_ns.push_back(whole_ns);
    } else if (whole == most) {
      return "";
    } else {
      parts_ns.clear();
      wholes_ns.clear();
      whole = std::min(4 * whole, most);
      part = whole / 2;
    }
  }
  if (grows(smallest(parts_ns), largest(wholes_ns))) return "";
  return std::to_string(whole) + " calls take " + microseconds(smallest(wholes_ns)) + " and " +
         std::to_string(part) + " calls " + microseconds(smallest(parts_ns)) +
         ": not every call is made";
}

std::string doubt_about_further_calls(const BatchTimer& plain, const Samples& samples,
                                      const MeasureOptions& options, int64_t threads) {
  if (samples.batch < 2) return "";
  const uint64_t whole = std::clamp<uint64_t>(
      samples.batch, std::min(kFewCalls, most_calls(options)), most_calls(options));
  const double beginning_ns = waking_ns(threads);
  const auto is_doubted = [&](double first_ns, double further_ns) {
    return first_ns > std::max(kMaxFirstCall * further_ns, further_ns + beginning_ns);
  };
  std::vector<double> first_ns, further_ns;
  while (first_ns.size() < kFirstCallRounds) {
    const double all = plain(whole).elapsed_ns;
    plain(1);  // absorbs the cost of a restored operand or of the end of the long batch
    const Batch first = plain(1);
    first_ns.push_back(first.undisturbed_ns());
    further_ns.push_back(std::max(0.0, all - first.elapsed_ns) / double(whole - 1));
    if (!is_doubted(first_ns.back(), further_ns.back())) return "";
  }
  if (!is_doubted(smallest(first_ns), largest(further_ns))) return "";
  return "a call takes " + microseconds(smallest(first_ns)) + " in a batch of its own and " +
         microseconds(largest(further_ns)) + " as a further one of " + std::to_string(whole) +
         ": not every call does the work";
}

std::string doubt_about_reset(const BatchTimer& plain, const BatchTimer& after_reset,
                              const Samples& samples, const MeasureOptions& options) {
  const auto most = static_cast<uint64_t>(options.max_batch);
  uint64_t count = std::min(kCoolingCalls * samples.batch, most);
  std::vector<double> plain_ns, verified_ns;
  while (plain_ns.size() < kRounds) {
    const Batch usual = plain(count);
    const double verified = after_reset(count).undisturbed_ns() / double(count);
    if (verified <= kMaxVerifiedSlowdown * usual.per_call_ns()) return "";
    if (count >= kCoolingCalls && usual.elapsed_ns >= kSettlingNs) {
      plain_ns.push_back(usual.per_call_ns());
      verified_ns.push_back(verified);
    } else if (count == most) {
      return "";
    } else {
      count = std::min(4 * count, most);
    }
  }
  if (smallest(verified_ns) <= kMaxVerifiedSlowdown * largest(plain_ns)) return "";
  return reset_text("a call", smallest(verified_ns), largest(plain_ns));
}

double reset_cost_ns(double bytes, int64_t threads) {
  return waking_ns(threads) + bytes / kColdBytesPerNs;
}

std::string doubt_about_call_after_reset(const BatchTimer& plain, const BatchTimer& after_reset,
                                         double cost_ns) {
  const auto is_doubted = [&](double reset_ns, double plain_ns) {
    return reset_ns > std::max(kMaxVerifiedSlowdown * plain_ns, plain_ns + cost_ns);
  };
  std::vector<double> plain_ns, reset_ns;
  while (reset_ns.size() < kRounds) {
    plain_ns.push_back(plain(1).elapsed_ns);
    reset_ns.push_back(after_reset(1).undisturbed_ns());
    if (!is_doubted(reset_ns.back(), plain_ns.back())) return "";
  }
  if (!is_doubted(smallest(reset_ns), largest(plain_ns))) return "";
  return reset_text("a single call", smallest(reset_ns), largest(plain_ns));
}

BatchTimer idles_before_later_batches(BatchTimer time, bool is_simulated) {
  return [time = std::move(time), idles = false, is_simulated](uint64_t count) mutable {
    if (idles && !is_simulated) sleep_for_ns(kSettlingNs);
    idles = true;
    return time(count);
  };
}

double suspect_reading_ns(const Samples& samples) {
  return std::max(kMinHiddenNs, median(samples.per_call_ns));
}

std::string doubt_about_reading(const std::function<ReadingTimes()>& read, const Samples& samples,
                                const AnyRank& any) {
  const double suspect_ns = suspect_reading_ns(samples);
  const auto hides_a_call = [&](double poisoned_ns, double computed_ns) {
    return computed_ns - poisoned_ns >= suspect_ns && computed_ns > kMaxReadingTime * poisoned_ns;
  };
  std::vector<double> poisoned_ns, computed_ns;
  bool doubted = true;
  while (computed_ns.size() < kRounds) {
    const ReadingTimes times = read();
    poisoned_ns.push_back(times.poisoned_ns);
    computed_ns.push_back(times.computed_ns);
    doubted = doubted && hides_a_call(largest(poisoned_ns), smallest(computed_ns));
    if (!any(doubted)) return "";
  }
  if (!doubted) return "";
  return "reading results takes " + microseconds(smallest(computed_ns)) + " after a call of " +
         microseconds(median(samples.per_call_ns)) + " and " + microseconds(largest(poisoned_ns)) +
         " before it: they are computed when they are read";
}

bool is_clock_slow(const Samples& samples) {
  return samples.watched_ns > kMaxHostTime * samples.own_elapsed_ns ||
         samples.typical_watched_ns > kMaxHostTime * samples.typical_own_ns;
}

ClockDoubt doubt_about_slow_clock(const BatchTimer& plain, const Samples& samples,
                                  const MeasureOptions& options, const AnyRank& any) {
  if (samples.launch == "isolated" || options.max_batch < 2)
    return doubt_about_slow_clock_of_launches(plain, samples, any);
  const BatchTimer aligned = aligned_batches(plain, samples, options, any);
  const uint64_t whole = std::max<uint64_t>(2, samples.batch), half = whole / 2;
  const double shown_ns = own_call_ns(samples) * double(whole - half);
  std::vector<double> of_half_ns, of_whole_ns;
  double more_ns = 0;
  for (int round = 1; round <= kClockRounds; ++round) {
    of_half_ns.push_back(unseen_ns(aligned, half, samples));
    of_whole_ns.push_back(unseen_ns(aligned, whole, samples));
    more_ns = smallest(of_whole_ns) - smallest(of_half_ns);
    if (round >= kMinClockRounds && !any(more_ns > (kMaxHostTime - 1) * shown_ns + kEmptyBatchNs))
      return {};
  }
  bool is_far = more_ns > (kFarTime - 1) * shown_ns && more_ns > kMinHiddenNs;
  if (any(is_far)) is_far = stays_far_off(aligned, whole, samples, options, any, is_far);
  if (more_ns <= (kMaxHostTime - 1) * shown_ns + kEmptyBatchNs) return {};
  return {slow_clock_text(whole - half, shown_ns, shown_ns + more_ns), is_far};
}

bool is_clock_fast(const Samples& samples, const MeasureOptions& options) {
  const auto batches = double(samples.per_call_ns.size() * samples.batches_per_sample);
  const double ticks_ns = kTicks * options.timer_resolution_ns;
  const auto shows_more = [](double shown_ns, double watched_ns, double tolerance_ns) {
    return watched_ns > 0 && shows_too_much(shown_ns, watched_ns, tolerance_ns);
  };
  return shows_more(samples.own_elapsed_ns, samples.watched_ns, ticks_ns * batches) ||
         shows_more(samples.typical_own_ns, samples.typical_watched_ns, ticks_ns);
}

ClockDoubt doubt_about_fast_clock(const BatchTimer& plain, const Samples& samples,
                                  const MeasureOptions& options, const AnyRank& any) {
  const double ticks_ns = kTicks * options.timer_resolution_ns;
  Batch batch;
  bool doubted = true, is_far = true;
  for (size_t round = 0; round < kRounds; ++round) {
    batch = plain(samples.batch);
    doubted = doubted && shows_too_much(batch.own_elapsed_ns, batch.watched_ns, ticks_ns);
    is_far = is_far && batch.own_elapsed_ns > kFarTime * batch.watched_ns + ticks_ns;
    if (!any(doubted)) return {};
  }
  if (!doubted) return {};
  return {calls_take(samples.batch) + microseconds(batch.own_elapsed_ns) +
              " by the backend's clock, and the host saw only " + microseconds(batch.watched_ns) +
              " pass: the clock is wrong",
          is_far};
}

}  // namespace deepbench
