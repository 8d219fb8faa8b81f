// The clock of the host, and medians of a few samples, for everything that a backend times besides
// batches: planning and conversions. Header-only, for backends.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
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
// together.
struct SamplingRule {
  size_t min_samples = 1, max_samples = 1;
  double span_ns = 0;

  bool is_satisfied(size_t samples, double total_ns) const {
    return samples >= min_samples && (samples >= max_samples || total_ns >= span_ns);
  }
};

// The times that successive calls of `sample_ns` return.
template <class Sample>
std::vector<double> sample_times_ns(const SamplingRule& rule, Sample sample_ns) {
  std::vector<double> times;
  for (double total = 0; !rule.is_satisfied(times.size(), total); total += times.back())
    times.push_back(sample_ns());
  return times;
}

// The median of at least one time.
inline double median_ns(std::vector<double> times) {
  const auto middle = times.begin() + std::ptrdiff_t(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace deepbench::plugin
