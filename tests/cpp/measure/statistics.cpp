// Compares statistics with constants computed by hand or with numpy.
#include "deepbench/measure/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "../fake_backend.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::repeat_pattern;

Approx approximately(double value) { return Approx(value).epsilon(1e-13); }

// 1.2533 * 1.4826 * MAD / (sqrt(n) * median), the formula of docs/explanation/measuring.md.
double error_by_hand(double mad, double n, double median) {
  return 1.2533 * 1.4826 * mad / (std::sqrt(n) * median);
}

TEST_CASE("statistics of twelve samples equal numpy's") {
  const Statistics s = summarize({1234.5, 1200.25, 1250.0, 1199.0, 1300.75, 1210.0, 1225.5,
                                  1260.125, 1190.0, 1500.0, 1215.0, 1222.0});
  CHECK(s.n == 12);
  CHECK(s.median == 1223.75);
  CHECK(s.q1 == 1207.5625);
  CHECK(s.q3 == 1252.53125);
  CHECK(s.p99 == approximately(1478.0825));
  CHECK(s.mean == 1250.59375);
  CHECK(s.stdev == approximately(84.36900020755685));  // ddof=1
  CHECK(s.mad == 24.125);
  CHECK(s.min == 1190.0);
  CHECK(s.max == 1500.0);
  // 6 -+ 0.98 * sqrt(12) = 2.6 and 9.4: order statistics 2 and 10, from 0.
  CHECK(s.low == 1200.25);
  CHECK(s.high == 1300.75);
}

TEST_CASE("statistics of an odd number of samples equal numpy's") {
  const Statistics s = summarize({1234.5, 1200.25, 1250.0, 1199.0, 1300.75});
  CHECK(s.median == 1234.5);
  CHECK(s.q1 == 1200.25);
  CHECK(s.q3 == 1250.0);
  CHECK(s.p99 == approximately(1298.72));
  CHECK(s.mean == approximately(1236.9));
  CHECK(s.stdev == approximately(41.93395104208522));
  CHECK(s.mad == 34.25);
  CHECK(s.low == 1199.0);  // the whole range, for five samples
  CHECK(s.high == 1300.75);
}

TEST_CASE("statistics of one and of two samples are defined") {
  const Statistics one = summarize({5.0});
  CHECK(one.n == 1);
  CHECK(one.median == 5.0);
  CHECK(one.q1 == 5.0);
  CHECK(one.p99 == 5.0);
  CHECK(one.stdev == 0.0);
  CHECK(one.mad == 0.0);
  CHECK(one.low == 5.0);
  CHECK(one.high == 5.0);
  const Statistics two = summarize({4.0, 8.0});
  CHECK(two.median == 6.0);
  CHECK(two.q1 == 5.0);
  CHECK(two.q3 == 7.0);
  CHECK(two.mad == 2.0);
  CHECK(two.low == 4.0);
  CHECK(two.high == 8.0);
}

TEST_CASE("statistics of no samples throw") {
  CHECK_THROWS_AS(summarize({}), std::invalid_argument);
  CHECK_THROWS_AS(median({}), std::invalid_argument);
}

TEST_CASE("the median does not depend on the order") {
  CHECK(median({3.0}) == 3.0);
  CHECK(median({9.0, 1.0}) == 5.0);
  CHECK(median({9.0, 1.0, 2.0}) == 2.0);
  CHECK(median({4.0, 9.0, 1.0, 2.0}) == 3.0);
  CHECK(median({2.0, 2.0, 2.0, 1.0, 9.0, 9.0}) == 2.0);
}

// The probability that the median of a continuous distribution lies between two order statistics.
double median_coverage(int n, int low, int high) {
  double term = std::pow(0.5, n), sum = 0;  // C(n, 0) / 2^n
  for (int i = 0; i < high; ++i) {
    if (i > low) sum += term;
    term *= double(n - i) / double(i + 1);
  }
  return sum + (high > low ? term : 0);
}

TEST_CASE("the interval of the median covers 95 % for any distribution") {
  for (int n = 6; n <= 400; ++n) {
    std::vector<double> ranks;
    for (int i = 0; i < n; ++i) ranks.push_back(i);
    const Statistics s = summarize(ranks);
    CAPTURE(n);
    CHECK(median_coverage(n, int(s.low), int(s.high)) >= 0.947);
    CHECK(median_coverage(n, int(s.low), int(s.high)) <= 0.99);
  }
}

TEST_CASE("lag-1 autocorrelation equals values computed by hand") {
  CHECK(lag1_autocorrelation({1, 2}) == 0.0);
  CHECK(lag1_autocorrelation({7, 7, 7, 7}) == 0.0);
  // The mean of these samples has a rounding error.
  CHECK(lag1_autocorrelation(std::vector<double>(80, 269435.456)) == 0.0);
  CHECK(median_error(std::vector<double>(80, 268435.456), 0.5) == 0.0);
  // Deviations -1 0 1: (-1*0 + 0*1) / 2.
  CHECK(lag1_autocorrelation({1, 2, 3}) == 0.0);
  // Deviations -1.5 -0.5 0.5 1.5: (0.75 - 0.25 + 0.75) / 5.
  CHECK(lag1_autocorrelation({1, 2, 3, 4}) == approximately(0.25));
  // Deviations +-1: -3 / 4.
  CHECK(lag1_autocorrelation({1, 3, 1, 3}) == approximately(-0.75));
}

TEST_CASE("the error of the median of independent samples follows the formula") {
  CHECK(median_error({}, 0.5) == std::numeric_limits<double>::infinity());
  CHECK(median_error({100}, 0.5) == std::numeric_limits<double>::infinity());
  // Median 100, distances 0 10 10 20 20.
  CHECK(median_error({100, 110, 90, 120, 80}, 0.5) == approximately(error_by_hand(10, 5, 100)));
  CHECK(median_error({100, 100, 100}, 0.5) == 0.0);
}

TEST_CASE("correlated samples are judged by block means") {
  // Neighbors are alike: the autocorrelation at lag 1 is 0.526 for the samples and 0.052 for the
  // means of pairs. Those ten means have the median 100.5 and distances from it of 0.5 0.5 1.5 1.5
  // 2.5 2.5 3.5 3.5 4.5 4.5.
  const std::vector<double> means = {100, 102, 104, 103, 99, 97, 98, 101, 105, 96};
  std::vector<double> pairs, fours;
  for (double mean : means) {
    pairs.insert(pairs.end(), {mean - 0.25, mean + 0.25});
    fours.insert(fours.end(), {mean - 0.25, mean + 0.25, mean + 0.5, mean - 0.5});
  }
  CHECK(lag1_autocorrelation(means) == approximately(4.25 / 82.5));
  REQUIRE(lag1_autocorrelation(pairs) >= 0.5);
  CHECK(median_error(pairs, 0.5) == approximately(error_by_hand(2.5, 10, 100.5)));
  // Means of pairs of these are still correlated; means of blocks of four are not.
  REQUIRE(lag1_autocorrelation(fours) >= 0.5);
  CHECK(median_error(fours, 0.5) == approximately(error_by_hand(2.5, 10, 100.5)));
  // The threshold is a parameter.
  CHECK(median_error(pairs, 0.9) ==
        approximately(error_by_hand(median_absolute_deviation(pairs), 20, median(pairs))));
}

TEST_CASE("the error of the median of a trend is infinite") {
  std::vector<double> rising;
  for (int i = 0; i < 30; ++i) rising.push_back(100 + i);
  CHECK(median_error(rising, 0.5) == std::numeric_limits<double>::infinity());
  // These are too few samples for ten blocks of two.
  rising.resize(19);
  CHECK(median_error(rising, 0.5) == std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace deepbench
