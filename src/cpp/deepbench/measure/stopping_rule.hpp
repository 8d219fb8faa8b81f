// Decides after each sample whether to stop, and gives the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/options.hpp"

namespace deepbench {

enum class StopReason { kConverged, kNoisy, kTimeLimit, kThrottled, kTooFew };

constexpr std::string_view name_of(StopReason stop) {
  switch (stop) {
    case StopReason::kConverged:
      return "converged";
    case StopReason::kNoisy:
      return "noisy";
    case StopReason::kTimeLimit:
      return "time_limit";
    case StopReason::kThrottled:
      return "throttled";
    case StopReason::kTooFew:
      break;
  }
  return "too_few";
}

class DEEPBENCH_API StoppingRule {
 public:
  explicit StoppingRule(const MeasureOptions& options) : options_(options) {}

  // From now on, exactly this number of samples is required, whatever their error.
  void take_exactly(int64_t samples) { options_.exact_samples = samples; }

  // Adds one sample, a batch of `count` calls.
  void add(double per_call_ns, uint64_t count, bool throttled, bool schedule_perturbed = false);

  // The reason to stop now, or nothing. `spent_ns` is the host time of the row so far, including
  // warm-up.
  std::optional<StopReason> decide(double spent_ns);

  // One value per batch, or the mean of batches_per_sample() batches.
  const std::vector<double>& samples() const {
    return block_means_.empty() ? samples_ : block_means_;
  }
  size_t batches_per_sample() const { return block_means_.empty() ? 1 : kBatchesPerBlock; }
  // Relative standard error of the median at the last decision; infinity if there is none yet.
  double standard_error() const { return error_; }
  int64_t throttled_samples() const { return throttled_; }

 private:
  int64_t required_samples(double median_ns) const;
  // How many of `samples` samples of a row one visit takes.
  int64_t share_of_visit(int64_t samples) const;
  void update_error();
  bool is_multimodal(double median_ns) const;
  std::optional<StopReason> decide_by_block_means(bool out_of_time);
  bool has_plateaued();
  StopReason throttled_or(StopReason otherwise) const;

  MeasureOptions options_;
  std::vector<double> samples_;
  bool perturbed_ = false, takes_block_means_ = false;
  std::vector<double> block_means_;  // empty until there are enough blocks
  double total_span_ns_ = 0;
  uint64_t batch_ = 1;
  int64_t throttled_ = 0;
  int64_t next_check_ = 1;  // each decision sorts the samples, so large sets are checked less often
  double error_ = 0;
  double error_at_half_ = 0;
  int64_t next_doubling_ = 0;  // number of samples of the next plateau check
};

}  // namespace deepbench
