// Whether the times that a backend reports fit together. The measuring loop believes them; these
// functions make a few more batches and look for what an honest clock and an honest loop cannot do.
// Other work on the machine must not cast doubt on a kernel: an honest one is believed after the
// first round that is plausible, and doubt takes several rounds without an exception.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/measure/measure.hpp"

namespace deepbench {

// A verified batch this many times slower than the samples is looked into.
inline constexpr double kMaxVerifiedSlowdown = 2;

// Each returns why the samples are doubted, in one line, or "". `plain` makes batches as the
// samples were made.

// Half of the calls must take about half of the time, or not every call is made.
DEEPBENCH_API std::string doubt_about_count(const BatchTimer& plain, const Samples& samples,
                                            const MeasureOptions& options);

// Calls whose results are verified must not take longer than the others, or the others do less.
// `after_reset` makes a batch right after the outputs were poisoned, and reads a result, so that
// the next plain batch is not part of it. Poisoning cools caches and wakes threads: the batches are
// so long that this counts little, and where they cannot be, nothing is doubted.
DEEPBENCH_API std::string doubt_about_reset(const BatchTimer& plain, const BatchTimer& after_reset,
                                            const Samples& samples, const MeasureOptions& options);

// Whether the host saw much more time pass than the backend's clock shows.
DEEPBENCH_API bool is_clock_suspect(const Samples& samples);

// Of a suspect clock. What a batch costs the host whatever
// its calls take does not count. Isolated calls and flushed caches leave most of the host's time
// out of their spans and are not judged.
DEEPBENCH_API std::string doubt_about_clock(const BatchTimer& plain, const Samples& samples,
                                            const MeasureOptions& options);

}  // namespace deepbench
