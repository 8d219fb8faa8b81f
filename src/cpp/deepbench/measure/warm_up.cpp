// Sizes batches and compares the medians of two successive windows of batches.
#include "deepbench/measure/warm_up.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr size_t kWindow = 10, kShortWindow = 5;
constexpr size_t kLeastWindow = 2;  // the smallest window if a row has several visits
// Calls that are longer, or that follow a rest, fluctuate less: a shorter window suffices.
constexpr double kShortWindowNs = 5e6;
constexpr double kSettledTolerance = 0.01;

std::vector<double> last_values(const std::vector<double>& all, size_t count, size_t skip = 0) {
  const size_t end = all.size() - std::min(skip, all.size());
  const size_t begin = end - std::min(count, end);
  return {all.begin() + static_cast<ptrdiff_t>(begin), all.begin() + static_cast<ptrdiff_t>(end)};
}

}  // namespace

WarmUp::WarmUp(const MeasureOptions& options, double estimate_ns)
    : options_(options), estimate_ns_(estimate_ns) {
  if (options.min_load_ns) load_.emplace(*options.min_load_ns);
  set_batch_size(estimate_ns);
}

double WarmUp::min_calls(double per_call_ns) const {
  const auto min_batch = static_cast<double>(options_.min_batch);
  const auto min_short_batch = static_cast<double>(options_.min_short_batch);
  const double fitting = kMaxBatchShareOfLimit * options_.time_limit_ns / per_call_ns;
  double calls = min_batch <= fitting ? min_batch : 1;
  if (per_call_ns < kShortCallNs && min_short_batch <= fitting)
    calls = std::max(calls, min_short_batch);
  return calls;
}

bool WarmUp::is_rotation_short(double per_call_ns) const {
  return double(options_.rotation) * per_call_ns <= kMaxRotationSpans * options_.min_span_ns;
}

void WarmUp::set_batch_size(double per_call_ns) {
  double calls = std::max(std::ceil(options_.min_span_ns / per_call_ns), min_calls(per_call_ns));
  const auto rotation = static_cast<double>(options_.rotation);
  // Whole rotations let every batch begin at the same copy, so that one captured graph of a backend
  // serves all batches.
  if (calls > 1 && is_rotation_short(per_call_ns)) calls = std::ceil(calls / rotation) * rotation;
  batch_size_ =
      static_cast<uint64_t>(std::clamp(calls, 1.0, static_cast<double>(options_.max_batch)));
}

// The cap of the warm-up: 100 ms for calls under 1 ms, 1 s for longer calls. Calls of at least
// kLongCallNs need no more than the first calls.
double WarmUp::max_duration_ns() const {
  if (estimate_ns_ >= kLongCallNs) return 0;
  return estimate_ns_ < 1e6 ? 100e6 : 1e9;
}

void WarmUp::add(const Batch& batch) {
  spent_ns_ += batch.spent_ns();
  if (load_) load_->add(batch);
  rested_ = batch.rested_ns > 0;
  estimate_ns_ = batch.per_call_ns();
  if (batch.clock_mhz > 0) clocks_mhz_.push_back(batch.clock_mhz);
  // Early calls are slow, so a batch size derived from them is too small once calls have settled.
  const bool cuts_rotation = batch_size_ > 1 && is_rotation_short(estimate_ns_) &&
                             batch_size_ % uint64_t(options_.rotation) != 0;
  const bool is_small = batch.elapsed_ns < options_.min_span_ns || cuts_rotation ||
                        static_cast<double>(batch_size_) < min_calls(estimate_ns_);
  resized_ = is_small && batch_size_ < uint64_t(options_.max_batch);
  if (resized_) {
    short_batch_size_ = batch.count;
    set_batch_size(0.95 * estimate_ns_);
  } else {
    times_ns_.push_back(estimate_ns_);
  }
}

bool WarmUp::time_has_settled() const {
  const bool fluctuates = estimate_ns_ < kShortWindowNs && !rested_;
  const auto visits = static_cast<size_t>(options_.visits);
  const size_t whole = fluctuates ? kWindow : kShortWindow;
  const size_t window = std::max(kLeastWindow, (whole + visits - 1) / visits);
  if (times_ns_.size() < 2 * window || resized_) return false;
  const double previous = median(last_values(times_ns_, window, window));
  const double latest = median(last_values(times_ns_, window));
  return std::abs(latest - previous) < kSettledTolerance * previous;
}

bool WarmUp::done() const {
  if (load_) return load_->has_settled() && !resized_;
  return spent_ns_ >= max_duration_ns() || time_has_settled();
}

std::vector<double> WarmUp::last_clocks_mhz() const { return last_values(clocks_mhz_, kWindow); }

}  // namespace deepbench
