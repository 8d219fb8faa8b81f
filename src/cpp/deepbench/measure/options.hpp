// How long and how precisely to measure. Defaults are docs/explanation/measuring.md's rules.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepbench {

struct MeasureOptions {
  double min_span_ns = 200e3;  // one span is at least this long; shorter calls are batched
  double min_total_ns = 20e6;  // all spans together
  double max_error = 0.005;    // relative standard error of the median
  int64_t min_samples = 10;
  int64_t exact_samples = 0;    // > 0: exactly so many, whatever their error
  double time_limit_ns = 10e9;  // host time of a row, warm-up included
  double steady_load_ns = 0;    // > 0: load at least this long before sampling calls of >= 1 ms
  double timer_resolution_ns = 1;

  double max_autocorrelation = 0.5;  // lag 1; above, errors come from block means
  double noisy_error_ratio = 0.9;  // an error above this share of that at half the samples is noise
  int64_t noisy_min_samples = 20;  // first number of samples whose doubling is judged
  double throttled_clock_ratio = 0.9;  // share of the settled clock
  int throttled_retries = 3;
  double max_throttled_share = 0.1;  // of marked samples, above which the row is throttled
  int64_t max_batch = 1 << 20;
  // Calls in a batch, and in one of calls under kShortCallNs, where they take no more than
  // kMaxBatchShareOfLimit of the limit.
  int64_t min_batch = 1, min_short_batch = 1;
  int64_t rotation =
      1;  // copies that calls go round: batches are whole rounds where rounds are short
};

inline constexpr double kMaxBatchShareOfLimit = 0.02, kShortCallNs = 100e3;

// Batches that are shuffled (plugin.h) may come in groups of times. Their median then is that of
// one group or of another, by chance, while their mean is the same in every run: from this relative
// standard deviation on samples are means over kBatchesPerBlock batches, until those have this
// error, for at most so many batches.
inline constexpr double kBlockMeansMinDeviation = 0.015, kBlockMeansMaxError = 0.004;
inline constexpr size_t kBatchesPerBlock = 12, kMaxBlockBatches = 20 * kBatchesPerBlock;

// A round is short if it takes at most so many spans.
inline constexpr double kMaxRotationSpans = 16;

// Calls of at least this long get few samples: five, above a second three.
inline constexpr double kLongCallNs = 100e6;
inline constexpr double kMinSteadyCallNs = 1e6;  // of shorter ones none makes a steady load
inline constexpr double kVeryLongCallNs = 1e9;
inline constexpr int64_t kLongSamples = 5;
inline constexpr int64_t kVeryLongSamples = 3;
// A first call of at least this is all the warm-up there is.
inline constexpr double kNoWarmUpNs = 200e6;

}  // namespace deepbench
