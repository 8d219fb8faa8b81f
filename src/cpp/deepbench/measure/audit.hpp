// Checks whether the times that a backend reports are consistent. The measuring loop trusts them;
// these functions make a few more batches and look for results that a correct clock and a correct
// loop cannot produce. Other work on the machine must not cast doubt on a kernel: the first
// plausible round acquits it, and a doubt requires several implausible rounds in a row. The time
// for which other work is known to have held a processor does not count against a batch.
//
// Where several ranks make the batches together, each judges its own clock and its own results, and
// all make as many rounds as the rank that needs the most.
#pragma once

#include <functional>
#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/measure/measure.hpp"

namespace deepbench {

// A verified batch that is this many times slower than the samples is examined.
inline constexpr double kMaxVerifiedSlowdown = 2;
// Batches of a doubted kernel grow to this length, which outlasts short disturbances, such as
// threads that poisoned the outputs and keep the processors busy for some milliseconds.
inline constexpr double kSettlingNs = 50e6;

// Returns whether `mine` is true on any rank. All ranks call it at the same step.
using AnyRank = std::function<bool(bool mine)>;
inline bool this_rank(bool mine) { return mine; }  // for a process that makes its rows alone

// Each of these functions returns the reason to doubt the samples, in one line, or "" if there is
// none. `plain` makes batches in the way in which the samples were made.

// A batch of this many calls is judged by doubt_about_count() even if it is shorter than
// kSettlingNs: neither a disturbance nor the launch of the batch hides half of its calls.
inline constexpr uint64_t kManyCalls = 1 << 16;

// Doubts that every call is made: half of the calls must take about half of the time. `many` is the
// number of calls of a batch that is judged whatever its length.
DEEPBENCH_API std::string doubt_about_count(const BatchTimer& plain, const Samples& samples,
                                            const MeasureOptions& options,
                                            uint64_t many = kManyCalls);

// Doubts that further calls do all the work: a call in a batch of its own must take at most 1.6
// times as long as a further call of a long batch. The first call may have to wake `threads`
// threads.
DEEPBENCH_API std::string doubt_about_further_calls(const BatchTimer& plain, const Samples& samples,
                                                    const MeasureOptions& options, int64_t threads);

// Doubts that timed calls do as much as calls whose results are verified: the latter must not take
// longer. `after_reset` makes a batch right after the outputs were poisoned and then reads a
// result, so that work which is left over does not fall into the next plain batch. Poisoning evicts
// operands from caches and wakes threads. Batches are therefore so long that this counts little;
// where they cannot be, there is no doubt.
DEEPBENCH_API std::string doubt_about_reset(const BatchTimer& plain, const BatchTimer& after_reset,
                                            const Samples& samples, const MeasureOptions& options);

// The time that poisoning the outputs may add to a call, which then finds `bytes` of operands in no
// cache and `threads` threads asleep.
DEEPBENCH_API double reset_cost_ns(double bytes, int64_t threads);

// Does the same as doubt_about_reset() for a single call, since the first call after the outputs
// were poisoned may do the work of all. Each timer is one that idles_before_later_batches(), so
// that a longer call is explained by `cost_ns` alone.
DEEPBENCH_API std::string doubt_about_call_after_reset(const BatchTimer& plain,
                                                       const BatchTimer& after_reset,
                                                       double cost_ns);

// Lets the device and its threads idle for kSettlingNs before each batch but the first, since most
// correct kernels are acquitted after that one. Those of a simulator need not idle.
DEEPBENCH_API BatchTimer idles_before_later_batches(BatchTimer time, bool is_simulated);

// The times in which poisoned results are read, and in which they are read right after a call.
struct ReadingTimes {
  double poisoned_ns = 0, computed_ns = 0;
};

// Results can have been computed while they were read only if reading them takes at least this
// long: as long as a call, and longer than caches and small copies explain.
DEEPBENCH_API double suspect_reading_ns(const Samples& samples);

// Doubts that results are computed by the call and not when they are read: reading them must not
// take longer than reading what the outputs held before the call.
DEEPBENCH_API std::string doubt_about_reading(const std::function<ReadingTimes()>& read,
                                              const Samples& samples,
                                              const AnyRank& any = this_rank);

// A doubt about a backend's clock.
struct ClockDoubt {
  std::string why;      // the reason in one line, or ""
  bool is_far = false;  // whether it errs more than any correct clock
};

// Whether the host saw much more time pass than the backend's clock shows.
DEEPBENCH_API bool is_clock_slow(const Samples& samples);

// Doubts a clock that seems slow. The host's overhead of a batch does not count. Where batches have
// a single call, or calls are isolated, this overhead is unknown: there, a clock is doubted only if
// it is far off and the host's time is too long for any launch.
DEEPBENCH_API ClockDoubt doubt_about_slow_clock(const BatchTimer& plain, const Samples& samples,
                                                const MeasureOptions& options,
                                                const AnyRank& any = this_rank);

// Whether the backend's clock shows more time than the host saw pass.
DEEPBENCH_API bool is_clock_fast(const Samples& samples, const MeasureOptions& options);

// Doubts a clock that seems fast. The host's time covers the calls and more, so that neither other
// work nor the overhead of a batch explains a shorter one.
DEEPBENCH_API ClockDoubt doubt_about_fast_clock(const BatchTimer& plain, const Samples& samples,
                                                const MeasureOptions& options,
                                                const AnyRank& any = this_rank);

}  // namespace deepbench
