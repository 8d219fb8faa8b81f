// When to stop sampling.
#include "deepbench/measure/stopping_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "deepbench/measure/statistics.hpp"

namespace deepbench {

void StoppingRule::add(double per_call_ns, uint64_t count, bool throttled, bool shuffled) {
  if (samples_.empty()) {
    error_ = std::numeric_limits<double>::infinity();
    doubling_at_ = options_.noisy_from;
  }
  samples_.push_back(per_call_ns);
  batch_ = count;
  total_span_ns_ += per_call_ns * static_cast<double>(count);
  throttled_ += throttled;
  shuffled_ = shuffled;
}

int64_t StoppingRule::samples_wanted(double median_ns) const {
  if (median_ns >= kVeryLongCallNs) return kVeryLongSamples;
  if (median_ns >= kLongCallNs) return kLongSamples;
  return options_.min_samples;
}

void StoppingRule::update_error() {
  error_ = median_error(samples(), options_.max_autocorrelation);
  // A clock that ticks coarsely makes all samples equal: then its tick is the uncertainty.
  if (error_ == 0)
    error_ = options_.timer_resolution_ns / (median(samples()) * static_cast<double>(batch_));
}

// True once the error has fallen by too little while the samples doubled: more will not help.
bool StoppingRule::stopped_falling() {
  const auto n = static_cast<int64_t>(samples_.size());
  if (n < doubling_at_) return false;
  const bool first = doubling_at_ == options_.noisy_from;
  // Infinite: the samples correlate over such long times that no error can be told. Once may be
  // chance, twice is what this machine is like.
  const bool unknown = std::isinf(error_), was_unknown = std::isinf(error_at_half_);
  const bool flat =
      !first && (unknown ? was_unknown : error_ > options_.noisy_fall * error_at_half_);
  error_at_half_ = error_;
  doubling_at_ = 2 * n;
  return flat;
}

bool StoppingRule::comes_in_groups(double median_ns) const {
  return shuffled_ && summarize(samples_).stdev > kFoldFrom * median_ns;
}

std::optional<Stop> StoppingRule::decide_folded(bool out_of_time) {
  next_look_ = static_cast<int64_t>((samples_.size() / kFold + 1) * kFold);
  std::vector<double> means = block_means(samples_, kFold);
  const bool enough = static_cast<int64_t>(means.size()) >= options_.min_samples;
  if (enough) folded_ = std::move(means);
  update_error();
  if (!enough) return out_of_time ? std::optional(verdict(Stop::kTimeLimit)) : std::nullopt;
  if (error_ <= std::min(kFoldedError, options_.max_error)) return verdict(Stop::kConverged);
  if (!out_of_time && samples_.size() < kMostFolded) return std::nullopt;
  if (error_ <= options_.max_error) return verdict(Stop::kConverged);
  return verdict(out_of_time ? Stop::kTimeLimit : Stop::kNoisy);
}

Stop StoppingRule::verdict(Stop otherwise) const {
  const double share = static_cast<double>(throttled_) / static_cast<double>(samples_.size());
  return share > options_.throttled_share ? Stop::kThrottled : otherwise;
}

std::optional<Stop> StoppingRule::decide(double spent_ns) {
  const auto n = static_cast<int64_t>(samples_.size());
  if (n == 0) return std::nullopt;
  const bool out_of_time = spent_ns >= options_.time_limit_ns;
  const bool exact = options_.exact_samples > 0;
  const bool exact_done = exact && n >= options_.exact_samples;
  if (!out_of_time && !exact_done && (exact || n < next_look_)) return std::nullopt;
  next_look_ = n < 100 ? n + 1 : n + n / 16;

  if (folding_) return decide_folded(out_of_time);
  const double median_ns = median(samples_);
  update_error();
  const bool precise = error_ <= options_.max_error;
  const bool enough = n >= samples_wanted(median_ns);
  // Three short samples that are equal say nothing of the next.
  if (exact_done) return verdict(precise && enough ? Stop::kConverged : Stop::kTooFew);
  if (exact) return verdict(enough ? Stop::kTimeLimit : Stop::kTooFew);  // fewer than asked for
  const bool long_call = median_ns >= kLongCallNs;
  if (enough && long_call) return verdict(precise ? Stop::kConverged : Stop::kTooFew);
  const bool long_enough = total_span_ns_ >= options_.min_total_ns;
  folding_ = enough && long_enough && comes_in_groups(median_ns);
  if (folding_) return decide_folded(out_of_time);
  if (enough && precise && long_enough) return verdict(Stop::kConverged);
  if (out_of_time) return verdict(enough ? Stop::kTimeLimit : Stop::kTooFew);
  if (!long_call && stopped_falling() && enough && long_enough) return verdict(Stop::kNoisy);
  return std::nullopt;
}

}  // namespace deepbench
