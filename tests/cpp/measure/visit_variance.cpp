// Compares quantiles with tables, and fitted variances and intervals with those that samples were
// drawn from.
#include "deepbench/measure/visit_variance.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace deepbench {
namespace {

using doctest::Approx;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kRows = 4000;

// Times whose logarithms scatter around that of 1,000 ns; those of different rows scatter with
// variances whose common one has `degrees` of freedom.
class Rows {
 public:
  Rows(double deviation, double degrees) : deviation_(deviation), chi_squared_(degrees) {
    degrees_ = degrees;
  }

  double draw_deviation() {
    if (std::isinf(degrees_)) return deviation_;
    return deviation_ * std::sqrt(degrees_ / chi_squared_(random_));
  }
  std::vector<double> draw_visits(double deviation, int count = 3) {
    std::vector<double> visits;
    for (int i = 0; i < count; ++i) visits.push_back(1000 * std::exp(deviation * normal_(random_)));
    return visits;
  }

 private:
  std::mt19937_64 random_{1};
  std::normal_distribution<double> normal_;
  double deviation_, degrees_;
  std::chi_squared_distribution<double> chi_squared_;
};

VisitPrior prior_of(const std::vector<std::vector<double>>& rows) {
  std::vector<VisitVariance> variances;
  for (const auto& visits : rows) variances.push_back(visit_variance(visits));
  return fit_visit_prior(variances);
}

TEST_CASE("Student's quantiles equal the tables") {
  const std::vector<std::pair<double, double>> table = {
      {1, 12.7062}, {2, 4.3027},  {3, 3.1824},   {5, 2.5706},
      {10, 2.2281}, {30, 2.0423}, {120, 1.9799}, {kInfinity, 1.95996}};
  for (const auto& [degrees, quantile] : table) {
    CAPTURE(degrees);
    CHECK(student_quantile(degrees) == Approx(quantile).epsilon(1e-4));
  }
}

TEST_CASE("the time of a row is the geometric mean of its visits, with their plain interval") {
  const VisitedTime time = combine_medians({100, 200, 400}, VisitPrior());
  CHECK(time.ns == Approx(200));
  const double error = std::log(2.0) / std::sqrt(3.0);
  CHECK(time.relative_error == Approx(error));
  CHECK(time.low_ns == Approx(200 * std::exp(-4.3027 * error)).epsilon(1e-4));
  CHECK(time.high_ns == Approx(200 * std::exp(4.3027 * error)).epsilon(1e-4));
}

TEST_CASE("one visit has no interval") {
  const VisitedTime time = combine_medians({100}, VisitPrior{10, 1e-4});
  CHECK(time.ns == Approx(100));
  CHECK(time.low_ns == time.ns);
  CHECK(time.high_ns == time.ns);
  CHECK(std::isinf(time.relative_error));
}

TEST_CASE("a class shows the variance that its rows have in common") {
  Rows rows(0.01, 4);
  std::vector<std::vector<double>> all;
  for (int i = 0; i < kRows; ++i) all.push_back(rows.draw_visits(rows.draw_deviation()));
  const VisitPrior prior = prior_of(all);
  CHECK(prior.degrees == Approx(4).epsilon(0.25));
  CHECK(std::sqrt(prior.variance) == Approx(0.01).epsilon(0.05));
}

// Many degrees of freedom are alike, so that rows of three visits hardly tell 20 from infinity.
TEST_CASE("rows that differ by chance alone have the variance of their class") {
  Rows rows(0.01, kInfinity);
  std::vector<std::vector<double>> all;
  for (int i = 0; i < kRows; ++i) all.push_back(rows.draw_visits(0.01));
  const VisitPrior prior = prior_of(all);
  CHECK(prior.degrees > 15);
  CHECK(std::sqrt(prior.variance) == Approx(0.01).epsilon(0.05));
}

TEST_CASE("a class of few rows, or of rows without variance, says nothing") {
  CHECK(prior_of({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}}).degrees == 0);
  CHECK(prior_of({{1, 2}, {2}, {3}, {4}, {5}, {6}}).degrees == 0);  // one visit has no variance
  CHECK(prior_of({{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 5}}).degrees == 0);
}

TEST_CASE("the interval of two visits far apart ends at the longest time of a result file") {
  const VisitedTime time = combine_medians({7e3, 7e7}, {});
  CHECK(time.high_ns == 1e15);
  CHECK(time.low_ns < 1);
}

// The goal of the intervals: two runs of unchanged rows agree in 95 of 100.
TEST_CASE("two runs agree within their combined intervals in 95 % of the rows") {
  for (const double degrees : {3.0, 10.0, kInfinity}) {
    CAPTURE(degrees);
    Rows rows(0.01, degrees);
    std::vector<std::vector<double>> first, second;
    for (int i = 0; i < kRows; ++i) {
      const double deviation = rows.draw_deviation();
      first.push_back(rows.draw_visits(deviation));
      second.push_back(rows.draw_visits(deviation));
    }
    const VisitPrior first_prior = prior_of(first), second_prior = prior_of(second);
    int agree = 0;
    for (int i = 0; i < kRows; ++i) {
      const VisitedTime a = combine_medians(first[size_t(i)], first_prior);
      const VisitedTime b = combine_medians(second[size_t(i)], second_prior);
      const double widths = std::hypot(std::log(a.high_ns / a.ns), std::log(b.high_ns / b.ns));
      agree += std::abs(std::log(a.ns / b.ns)) <= widths;
    }
    CHECK(double(agree) / kRows > 0.94);
    CHECK(double(agree) / kRows < 0.985);
  }
}

}  // namespace
}  // namespace deepbench
