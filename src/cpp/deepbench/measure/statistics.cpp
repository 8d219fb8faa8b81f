// Order statistics, block means and the error of the median.
#include "deepbench/measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace deepbench {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (position - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median_error_if_independent(const std::vector<double>& samples) {
  constexpr double kMadToSigma = 1.4826;    // for a normal distribution
  constexpr double kMedianToMean = 1.2533;  // sqrt(pi / 2): the median's error against the mean's
  return kMedianToMean * kMadToSigma * median_absolute_deviation(samples) /
         (std::sqrt(static_cast<double>(samples.size())) * median(samples));
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("the median of no samples");
  const auto middle = samples.begin() + static_cast<ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2) return *middle;
  return 0.5 * (*middle + *std::max_element(samples.begin(), middle));
}

double mean(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

std::vector<double> block_means(const std::vector<double>& samples, size_t length) {
  std::vector<double> means;
  for (size_t begin = 0; begin + length <= samples.size(); begin += length) {
    const auto first = samples.begin() + static_cast<ptrdiff_t>(begin);
    means.push_back(std::accumulate(first, first + static_cast<ptrdiff_t>(length), 0.0) /
                    static_cast<double>(length));
  }
  return means;
}

double median_absolute_deviation(const std::vector<double>& samples) {
  const double center = median(samples);
  std::vector<double> distances;
  distances.reserve(samples.size());
  for (double sample : samples) distances.push_back(std::abs(sample - center));
  return median(std::move(distances));
}

double lag1_autocorrelation(const std::vector<double>& samples) {
  if (samples.size() < 3) return 0;
  const double center = mean(samples);
  double covariance = 0, variance = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double deviation = samples[i] - center;
    variance += deviation * deviation;
    if (i + 1 < samples.size()) covariance += deviation * (samples[i + 1] - center);
  }
  // Equal samples differ from their mean only by its rounding error, all by the same amount.
  const double rounding = 1e-14 * center;
  const bool varies = variance > rounding * rounding * static_cast<double>(samples.size());
  return varies ? covariance / variance : 0;
}

double median_error(const std::vector<double>& samples, double max_autocorrelation) {
  if (samples.size() < 2) return std::numeric_limits<double>::infinity();
  if (lag1_autocorrelation(samples) < max_autocorrelation)
    return median_error_if_independent(samples);
  constexpr size_t kMinBlocks = 10;
  for (size_t length = 2; samples.size() / length >= kMinBlocks; length *= 2) {
    const std::vector<double> means = block_means(samples, length);
    if (lag1_autocorrelation(means) < max_autocorrelation)
      return median_error_if_independent(means);
  }
  return std::numeric_limits<double>::infinity();
}

Statistics summarize(const std::vector<double>& samples) {
  if (samples.empty()) throw std::invalid_argument("statistics of no samples");
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  Statistics s;
  s.n = static_cast<int64_t>(sorted.size());
  s.min = sorted.front(), s.max = sorted.back();
  s.median = quantile(sorted, 0.5), s.q1 = quantile(sorted, 0.25), s.q3 = quantile(sorted, 0.75);
  s.p99 = quantile(sorted, 0.99);
  s.mean = mean(sorted);
  double squares = 0;
  for (double sample : sorted) squares += (sample - s.mean) * (sample - s.mean);
  s.stdev = s.n > 1 ? std::sqrt(squares / static_cast<double>(s.n - 1)) : 0;
  s.mad = median_absolute_deviation(samples);
  // The median lies between these order statistics with 95 % probability, by the normal
  // approximation of the binomial distribution. For few samples they are the minimum and the
  // maximum.
  const double n = static_cast<double>(s.n);
  const double half = 0.5 * 1.96 * std::sqrt(n);
  const auto low = static_cast<int64_t>(std::floor(0.5 * n - half));
  const auto high = static_cast<int64_t>(std::ceil(0.5 * n + half));
  s.low = sorted[static_cast<size_t>(std::clamp<int64_t>(low, 0, s.n - 1))];
  s.high = sorted[static_cast<size_t>(std::clamp<int64_t>(high, 0, s.n - 1))];
  return s;
}

}  // namespace deepbench
