// Stops on precision, on a plateau of the error, on the time limit or on a number of samples.
#include "deepbench/measure/stopping_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "deepbench/measure/statistics.hpp"

namespace deepbench {

void StoppingRule::add(double per_call_ns, uint64_t count, bool throttled,
                       bool schedule_perturbed) {
  if (samples_.empty()) {
    error_ = std::numeric_limits<double>::infinity();
    next_doubling_ = options_.noisy_min_samples;
  }
  samples_.push_back(per_call_ns);
  batch_ = count;
  total_span_ns_ += per_call_ns * static_cast<double>(count);
  throttled_ += throttled;
  perturbed_ = schedule_perturbed;
}

int64_t StoppingRule::required_samples(double median_ns) const {
  if (median_ns >= kVeryLongCallNs) return share_of_visit(kVeryLongSamples);
  if (median_ns >= kLongCallNs) return share_of_visit(kLongSamples);
  return share_of_visit(options_.min_samples);
}

int64_t StoppingRule::share_of_visit(int64_t samples) const {
  return (samples + options_.visits - 1) / options_.visits;
}

void StoppingRule::update_error() {
  error_ = median_error(samples(), options_.max_autocorrelation);
  // A coarse timer makes all samples equal; its resolution is then the uncertainty.
  if (error_ == 0)
    error_ = options_.timer_resolution_ns / (median(samples()) * static_cast<double>(batch_));
}

// True if doubling the number of samples has hardly reduced the error: more samples will not help.
bool StoppingRule::has_plateaued() {
  const auto n = static_cast<int64_t>(samples_.size());
  if (n < next_doubling_) return false;
  const bool first = next_doubling_ == options_.noisy_min_samples;
  // The error is infinite if samples correlate over such long times that no error can be estimated.
  // One such check may be chance; two in a row are a property of the machine.
  const bool unknown = std::isinf(error_);
  const bool unknown_at_half = std::isinf(error_at_half_);
  const bool flat =
      !first && (unknown ? unknown_at_half : error_ > options_.noisy_error_ratio * error_at_half_);
  error_at_half_ = error_;
  next_doubling_ = 2 * n;
  return flat;
}

bool StoppingRule::is_multimodal(double median_ns) const {
  return perturbed_ && summarize(samples_).stdev > kBlockMeansMinDeviation * median_ns;
}

std::optional<StopReason> StoppingRule::decide_by_block_means(bool out_of_time) {
  next_check_ = static_cast<int64_t>((samples_.size() / kBatchesPerBlock + 1) * kBatchesPerBlock);
  std::vector<double> means = block_means(samples_, kBatchesPerBlock);
  const bool enough = static_cast<int64_t>(means.size()) >= share_of_visit(options_.min_samples);
  if (enough) block_means_ = std::move(means);
  update_error();
  if (!enough)
    return out_of_time ? std::optional(throttled_or(StopReason::kTimeLimit)) : std::nullopt;
  if (error_ <= std::min(kBlockMeansMaxError, options_.max_error))
    return throttled_or(StopReason::kConverged);
  const auto most = static_cast<size_t>(share_of_visit(kMaxBlockBatches));
  if (!out_of_time && samples_.size() < most) return std::nullopt;
  if (error_ <= options_.max_error) return throttled_or(StopReason::kConverged);
  return throttled_or(out_of_time ? StopReason::kTimeLimit : StopReason::kNoisy);
}

StopReason StoppingRule::throttled_or(StopReason otherwise) const {
  const double share = static_cast<double>(throttled_) / static_cast<double>(samples_.size());
  return share > options_.max_throttled_share ? StopReason::kThrottled : otherwise;
}

std::optional<StopReason> StoppingRule::decide(double spent_ns) {
  const auto n = static_cast<int64_t>(samples_.size());
  if (n == 0) return std::nullopt;
  const bool out_of_time = spent_ns >= options_.time_limit_ns;
  const bool exact = options_.exact_samples > 0;
  const bool exact_done = exact && n >= options_.exact_samples;
  if (!out_of_time && !exact_done && (exact || n < next_check_)) return std::nullopt;
  next_check_ = n < 100 ? n + 1 : n + n / 16;

  if (takes_block_means_) return decide_by_block_means(out_of_time);
  const double median_ns = median(samples_);
  update_error();
  const bool precise = error_ <= options_.max_error;
  const bool enough = n >= required_samples(median_ns);
  // Three equal short samples do not bound the error of the next one, so `enough` is required too.
  if (exact_done && options_.soak_calls > 0)
    return throttled_or(precise ? StopReason::kConverged : StopReason::kNoisy);
  if (exact_done)
    return throttled_or(precise && enough ? StopReason::kConverged : StopReason::kTooFew);
  if (exact)
    return throttled_or(enough ? StopReason::kTimeLimit
                               : StopReason::kTooFew);  // fewer samples than requested
  const bool long_call = median_ns >= kLongCallNs;
  if (enough && long_call)
    return throttled_or(precise ? StopReason::kConverged : StopReason::kTooFew);
  const bool long_enough = total_span_ns_ >= options_.min_total_ns;
  takes_block_means_ = enough && long_enough && is_multimodal(median_ns);
  if (takes_block_means_) return decide_by_block_means(out_of_time);
  if (enough && precise && long_enough) return throttled_or(StopReason::kConverged);
  if (out_of_time) return throttled_or(enough ? StopReason::kTimeLimit : StopReason::kTooFew);
  if (!long_call && has_plateaued() && enough && long_enough)
    return throttled_or(StopReason::kNoisy);
  return std::nullopt;
}

}  // namespace deepbench
