// Whether the times that a backend reports fit together. The measuring loop believes them; these
// functions make a few more batches and look for what an honest clock and an honest loop cannot do.
// Other work on the machine must not cast doubt on a kernel: an honest one is believed after the
// first round that is plausible, and doubt takes several rounds without an exception. Nor does time
// for which other work is known to have had the processor make a batch too long.
//
// Where several ranks make the batches together, each judges its own clock and its own results, and
// all make as many rounds as the one that is doubted longest.
#pragma once

#include <functional>
#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/measure/measure.hpp"

namespace deepbench {

// A verified batch this many times slower than the samples is looked into.
inline constexpr double kMaxVerifiedSlowdown = 2;
// Batches of a doubted kernel grow to this length, so that no short disturbance explains them, such
// as threads that poisoned the outputs and keep the processors busy for some milliseconds.
inline constexpr double kSettlingNs = 50e6;

// Whether `mine` is true on any rank. All ranks call it at the same step.
using AnyRank = std::function<bool(bool mine)>;
inline bool this_rank(bool mine) { return mine; }  // of a process that makes its rows alone

// Each returns why the samples are doubted, in one line, or "". `plain` makes batches as the
// samples were made.

// Half of the calls must take about half of the time, or not every call is made.
DEEPBENCH_API std::string doubt_about_count(const BatchTimer& plain, const Samples& samples,
                                            const MeasureOptions& options);

// A call in a batch of its own takes at most 1.6 times as long as a further call of a long batch,
// or the further ones do less. `threads` may have to be woken for the first call.
DEEPBENCH_API std::string doubt_about_further_calls(const BatchTimer& plain, const Samples& samples,
                                                    const MeasureOptions& options, int64_t threads);

// Calls whose results are verified must not take longer than the others, or the others do less.
// `after_reset` makes a batch right after the outputs were poisoned, and reads a result, so that
// the next plain batch is not part of it. Poisoning cools caches and wakes threads: the batches are
// so long that this counts little, and where they cannot be, nothing is doubted.
DEEPBENCH_API std::string doubt_about_reset(const BatchTimer& plain, const BatchTimer& after_reset,
                                            const Samples& samples, const MeasureOptions& options);

// What poisoned outputs may add to a call: it finds `bytes` of operands in no cache, and `threads`
// asleep.
DEEPBENCH_API double reset_cost_ns(double bytes, int64_t threads);

// The same of a single call, since the first one after the outputs were poisoned may do the work of
// all. Each timer makes its later batches when the device and its threads have been idle for
// kSettlingNs, so that no more than `cost_ns` explains a longer call.
DEEPBENCH_API std::string doubt_about_call_after_reset(const BatchTimer& plain,
                                                       const BatchTimer& after_reset,
                                                       double cost_ns);

// How long it takes to read results: poisoned ones, and the same of a call right after it.
struct ReadingTimes {
  double poisoned_ns = 0, computed_ns = 0;
};

// The least time that reading must take before results can have been computed meanwhile: that of a
// call, and so much that no cache or small copy explains it.
DEEPBENCH_API double suspect_reading_ns(const Samples& samples);

// Reading the results of a call must not take longer than reading what stood there before it, or
// they are computed when they are read.
DEEPBENCH_API std::string doubt_about_reading(const std::function<ReadingTimes()>& read,
                                              const Samples& samples,
                                              const AnyRank& any = this_rank);

// What is wrong with a clock.
struct ClockDoubt {
  std::string why;      // in one line, or ""
  bool is_far = false;  // by more than any honest clock is off
};

// Whether the host saw much more time pass than the backend's clock shows.
DEEPBENCH_API bool is_clock_slow(const Samples& samples);

// Of a clock that seems slow. What a batch costs the host whatever its calls take does not count.
// It is unknown where batches have a single call, and counts for each of isolated calls: such a
// clock is doubted only if it is far off and the host's time is too long for any launch.
DEEPBENCH_API ClockDoubt doubt_about_slow_clock(const BatchTimer& plain, const Samples& samples,
                                                const MeasureOptions& options,
                                                const AnyRank& any = this_rank);

// Whether the backend's clock shows more time than the host saw pass.
DEEPBENCH_API bool is_clock_fast(const Samples& samples, const MeasureOptions& options);

// Of a clock that seems fast. The host's time includes all that the calls take, so that no other
// work and no cost of a batch explains it.
DEEPBENCH_API ClockDoubt doubt_about_fast_clock(const BatchTimer& plain, const Samples& samples,
                                                const MeasureOptions& options,
                                                const AnyRank& any = this_rank);

}  // namespace deepbench
