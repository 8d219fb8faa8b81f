// The measuring loop: first call, warm-up, then samples until the median is precise enough. It
// reads no clock; every time comes from the batches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/measure/options.hpp"
#include "deepbench/measure/soak.hpp"
#include "deepbench/measure/stopping_rule.hpp"

namespace deepbench {

struct Samples {
  std::vector<double>
      per_call_ns;  // one value per batch, or the mean of `batches_per_sample` successive batches
  size_t batches_per_sample = 1;
  uint64_t batch = 1;        // calls in each batch
  uint64_t short_batch = 0;  // calls in the last batch of the warm-up that was too short; 0: none
  bool schedule_perturbed =
      false;  // a perturbation of the schedule preceded the batches (DEEPBENCH_REQUEST_PERTURB)
  double first_call_ns = 0;
  double host_per_call_ns = 0;  // median
  double spent_ns = 0;          // host time of the whole loop, including rests
  double rested_ns = 0;         // rest ahead of the last batch
  double elapsed_ns = 0;        // device time of all batches that became samples
  double own_elapsed_ns = 0;    // the same on this rank, which may not be the slowest
  double watched_ns = 0;        // the same by the core's stopwatch on this rank's host; 0: unknown
  double typical_own_ns = 0;    // median device time of a batch on this rank
  double typical_watched_ns = 0;   // median host time of a batch on this rank
  double error = 0;                // relative standard error of the median; infinity for one sample
  double clock_mhz = 0;            // median over the samples, 0 if unknown
  std::vector<double> clocks_mhz;  // clock of each batch that became a sample, where known
  std::vector<double> rests_ns;    // rest ahead of each batch that became a sample
  int64_t throttled = 0;           // samples accepted although the device was throttled
  int64_t retries = 0;             // batches repeated because they were throttled or disturbed
  // For what part of the time of all batches, repeated ones included, a thread of the row waited
  // for a processor that other work held. Empty: unknown.
  std::optional<double> waited_share{};
  int64_t power_capped = 0;  // samples under a software power cap: a label, not a fault
  SoakCourse soak;           // how the samples of a soak change with time
  StopReason stop = StopReason::kConverged;
  std::string launch, timer;
};

// Measures the calls that `time` makes; rethrows what `time` throws.
DEEPBENCH_API Samples measure(const BatchTimer& time, const MeasureOptions& options);

}  // namespace deepbench
