// The clock of the host, and medians of a few samples, for everything that a backend times besides
// batches: planning, conversions, baselines. Header-only, for backends.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

namespace deepbench::plugin {

using Clock = std::chrono::steady_clock;

inline double elapsed_ns(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

// Measures the time since its construction.
class HostTimer {
 public:
  double elapsed_ns() const { return plugin::elapsed_ns(begin_, Clock::now()); }

 private:
  const Clock::time_point begin_ = Clock::now();
};

// When sampling ends: at `max_samples`, or earlier once at least `min_samples` took `span_ns`
// together. One sample suffices if the first takes longer than `long_ns`.
struct SamplingRule {
  size_t min_samples = 1, max_samples = 1;
  double span_ns = 0, long_ns = std::numeric_limits<double>::infinity();

  bool is_satisfied(size_t samples, double first_ns, double total_ns) const {
    if (samples == 0) return false;
    if (first_ns > long_ns) return true;
    return samples >= min_samples && (samples >= max_samples || total_ns >= span_ns);
  }
};

struct SampledTime {
  double median_ns = 0;
  size_t samples = 0;
};

// The median of the times that successive calls of `sample_ns` return.
template <class Sample>
SampledTime median_time(const SamplingRule& rule, Sample sample_ns) {
  std::vector<double> times;
  for (double total = 0; !rule.is_satisfied(times.size(), times.empty() ? 0 : times.front(), total);
       total += times.back())
    times.push_back(sample_ns());
  const auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return {*middle, times.size()};
}

}  // namespace deepbench::plugin
