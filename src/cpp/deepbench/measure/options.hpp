// How long and how precisely to measure. docs/explanation/measuring.md explains the defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace deepbench {

struct MeasureOptions {
  double min_span_ns = 200e3;  // a batch takes at least this long, so short calls are batched
  double min_total_ns = 20e6;  // all batches together take at least this long
  double max_error = 0.005;    // relative standard error of the median
  int64_t min_samples = 10;
  int64_t visits = 1;           // number of visits among which the row's samples are divided
  int64_t exact_samples = 0;    // > 0: take exactly this number, whatever their error
  double time_limit_ns = 10e9;  // host time of a row, including warm-up
  // Before the samples, the device is loaded without pause for at least this long, and until its
  // clock has settled (sustained_load.hpp). Empty: there is no such load.
  std::optional<double> min_load_ns;
  // > 0: the samples are at least this many consecutive calls, whose course is recorded (soak.hpp).
  int64_t soak_calls = 0;
  double timer_resolution_ns = 1;

  double max_autocorrelation = 0.5;  // at lag 1; beyond it, the error is that of block means
  // The row is noisy if doubling the samples leaves more than this share of the error.
  double noisy_error_ratio = 0.9;
  int64_t noisy_min_samples = 20;      // number of samples at the first such check
  double throttled_clock_ratio = 0.9;  // a clock below this share of the settled clock is throttled
  double max_throttled_share = 0.1;    // the row is throttled above this share of throttled samples
  // A batch is disturbed if a thread waited for a processor for more than this share of it. Waking
  // a thread on an idle processor takes tens of microseconds; a time slice of other work takes a
  // millisecond.
  double disturbed_wait_share = 0.02, disturbed_min_wait_ns = 100e3;
  int retries_per_sample = 3;  // repetitions of a throttled or disturbed batch
  int64_t max_batch = 1 << 20;
  // Minimum number of calls in a batch, and in a batch of calls shorter than kShortCallNs. Neither
  // applies where the batch would take more than kMaxBatchShareOfLimit of the time limit.
  int64_t min_batch = 1, min_short_batch = 1;
  // Number of operand copies that calls rotate through. Where a rotation is short, a batch is a
  // whole number of rotations.
  int64_t rotation = 1;
};

inline constexpr double kMaxBatchShareOfLimit = 0.02, kShortCallNs = 100e3;

// Kernels with the fact `schedule_sensitive` (plugin.h) may have a multimodal distribution of
// times. By chance their median then falls into one mode or another, while their mean is the same
// in every run. Above this relative standard deviation a sample is therefore the mean of
// kBatchesPerBlock batches. Sampling stops at this error of these means, or after kMaxBlockBatches
// batches.
inline constexpr double kBlockMeansMinDeviation = 0.015, kBlockMeansMaxError = 0.004;
inline constexpr size_t kBatchesPerBlock = 12, kMaxBlockBatches = 20 * kBatchesPerBlock;

// For a sustained load: a device that was idle for a second takes kLoadAfterIdleNs until its power
// draw and its clock are steady. A device that is already loaded needs only the windows that show
// that its clock has settled.
inline constexpr double kLoadAfterIdleNs = 3e9, kMaxLoadNs = 5e9, kSustainedSpanNs = 20e6;

// A soak has at least this many batches, so that its course can be seen.
inline constexpr int64_t kMinSoakBatches = 20;

// A rotation is short if it takes at most this many times min_span_ns.
inline constexpr double kMaxRotationSpans = 16;

// Long calls get few samples: five from kLongCallNs, three from kVeryLongCallNs.
inline constexpr double kLongCallNs = 100e6;
inline constexpr double kVeryLongCallNs = 1e9;
inline constexpr int64_t kLongSamples = 5;
inline constexpr int64_t kVeryLongSamples = 3;
// A first call of at least this length replaces the warm-up.
inline constexpr double kNoWarmUpNs = 200e6;

}  // namespace deepbench
