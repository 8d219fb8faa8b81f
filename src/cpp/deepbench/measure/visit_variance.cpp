// Moderated variances of visits, and Student's intervals from them.
#include "deepbench/measure/visit_variance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kLeastRows = 5;  // a class of fewer rows has no prior
// Variances below this share of the median variance are raised to it.
constexpr double kLeastShare = 1e-5;
constexpr double kLongestNs = 1e15;                    // no time in a result file is longer
constexpr double kNormalQuantile = 1.959963984540054;  // quantile of 97.5 %
constexpr double kNormalFrom = 1e6;  // as many degrees of freedom count as infinitely many

// The derivatives of the logarithm of the gamma function: the asymptotic series, after the
// recurrence has made the argument large enough for it.
double digamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum -= 1 / x;
  const double square = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x -
         square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square / 240)));
}

double trigamma(double x) {
  double sum = 0;
  for (; x < 10; ++x) sum += 1 / (x * x);
  const double square = 1 / (x * x);
  return sum + 1 / x + 0.5 * square +
         square / x * (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42 - square / 30)));
}

// trigamma falls from infinity to zero, so that bisection of the logarithm finds the argument.
double inverse_trigamma(double value) {
  double low = 1e-8, high = 1e8;
  for (int i = 0; i < 100; ++i) {
    const double middle = std::sqrt(low * high);
    (trigamma(middle) > value ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

double student_density(double t, double degrees) {
  const double scale = std::lgamma((degrees + 1) / 2) - std::lgamma(degrees / 2);
  return std::exp(scale - (degrees + 1) / 2 * std::log1p(t * t / degrees)) /
         std::sqrt(degrees * M_PI);
}

// The probability of a value between 0 and t, by Simpson's rule.
double student_probability(double t, double degrees) {
  constexpr int kIntervals = 512;
  const double width = t / kIntervals;
  double sum = student_density(0, degrees) + student_density(t, degrees);
  for (int i = 1; i < kIntervals; ++i) sum += (i % 2 ? 4 : 2) * student_density(i * width, degrees);
  return sum * width / 3;
}

}  // namespace

VisitVariance visit_variance(const std::vector<double>& medians_ns) {
  std::vector<double> logarithms;
  for (const double ns : medians_ns) logarithms.push_back(std::log(ns));
  const double center = mean(logarithms);
  double squares = 0;
  for (const double one : logarithms) squares += (one - center) * (one - center);
  const double degrees = static_cast<double>(medians_ns.size()) - 1;
  return {degrees, degrees > 0 ? squares / degrees : 0};
}

VisitPrior fit_visit_prior(const std::vector<VisitVariance>& rows) {
  std::vector<double> variances;
  for (const VisitVariance& row : rows)
    if (row.degrees > 0) variances.push_back(row.variance);
  if (variances.size() < kLeastRows) return {};
  const double least = kLeastShare * median(variances);
  if (least == 0) return {};
  std::vector<double> logarithms, expected_scatter;
  for (const VisitVariance& row : rows) {
    if (row.degrees <= 0) continue;
    const double half = row.degrees / 2;
    logarithms.push_back(std::log(std::max(row.variance, least)) - digamma(half) + std::log(half));
    expected_scatter.push_back(trigamma(half));
  }
  const double center = mean(logarithms);
  double squares = 0;
  for (const double one : logarithms) squares += (one - center) * (one - center);
  const double scatter = squares / static_cast<double>(logarithms.size() - 1);
  const double excess = scatter - mean(expected_scatter);
  if (excess <= 0) return {kInfinity, std::exp(center)};
  const double half = inverse_trigamma(excess);
  return {2 * half, std::exp(center + digamma(half) - std::log(half))};
}

VisitedTime combine_medians(const std::vector<double>& medians_ns, const VisitPrior& prior) {
  double mean = 0;
  for (const double ns : medians_ns) mean += std::log(ns);
  mean /= static_cast<double>(medians_ns.size());
  const double ns = std::exp(mean);
  const VisitVariance own = visit_variance(medians_ns);
  if (own.degrees == 0) return {ns, kInfinity, ns, ns};
  const double degrees = prior.degrees + own.degrees;
  const double variance =
      std::isinf(prior.degrees)
          ? prior.variance
          : (prior.degrees * prior.variance + own.degrees * own.variance) / degrees;
  const double error = std::sqrt(variance / static_cast<double>(medians_ns.size()));
  const double half_width = student_quantile(degrees) * error;
  const double high_ns = std::min(ns * std::exp(half_width), kLongestNs);
  return {ns, error, ns * std::exp(-half_width), std::max(ns, high_ns)};
}

double student_quantile(double degrees) {
  if (degrees > kNormalFrom) return kNormalQuantile;
  // The density falls, so that Newton's method approaches the quantile from below and does not
  // overshoot it.
  double t = kNormalQuantile;
  for (int i = 0; i < 60; ++i) {
    const double missing = 0.475 - student_probability(t, degrees);
    const double step = missing / student_density(t, degrees);
    t += step;
    if (std::abs(step) < 1e-9 * t) break;
  }
  return t;
}

}  // namespace deepbench
