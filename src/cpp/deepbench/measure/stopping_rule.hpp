// Decides after every sample whether to stop, and what a row that stopped is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/options.hpp"

namespace deepbench {

enum class Stop { kConverged, kNoisy, kTimeLimit, kThrottled, kTooFew };

constexpr std::string_view name_of(Stop stop) {
  switch (stop) {
    case Stop::kConverged:
      return "converged";
    case Stop::kNoisy:
      return "noisy";
    case Stop::kTimeLimit:
      return "time_limit";
    case Stop::kThrottled:
      return "throttled";
    case Stop::kTooFew:
      break;
  }
  return "too_few";
}

class DEEPBENCH_API StoppingRule {
 public:
  explicit StoppingRule(const MeasureOptions& options) : options_(options) {}

  // One more sample, of `count` calls.
  void add(double per_call_ns, uint64_t count, bool throttled, bool shuffled = false);

  // Whether to stop now; `spent_ns` is the host time of the row so far, warm-up included.
  std::optional<Stop> decide(double spent_ns);

  // Of single batches, or means over fold() of them.
  const std::vector<double>& samples() const { return folded_.empty() ? samples_ : folded_; }
  size_t fold() const { return folded_.empty() ? 1 : kFold; }
  // Relative standard error of the median as of the last decision; infinity before there is one.
  double error() const { return error_; }
  int64_t throttled_samples() const { return throttled_; }

 private:
  int64_t samples_wanted(double median_ns) const;
  void update_error();
  bool comes_in_groups(double median_ns) const;
  std::optional<Stop> decide_folded(bool out_of_time);
  bool stopped_falling();
  Stop verdict(Stop otherwise) const;

  MeasureOptions options_;
  std::vector<double> samples_;
  bool shuffled_ = false, folding_ = false;
  std::vector<double> folded_;  // once there are enough
  double total_span_ns_ = 0;
  uint64_t batch_ = 1;
  int64_t throttled_ = 0;
  int64_t next_look_ = 1;  // looking costs a sort: not at every one of many samples
  double error_ = 0;
  double error_at_half_ = 0;  // error at the last doubling
  int64_t doubling_at_ = 0;   // number of samples at which the next doubling is judged
};

}  // namespace deepbench
