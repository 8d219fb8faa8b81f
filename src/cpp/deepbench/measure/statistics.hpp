// Robust statistics of samples; all times are in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

struct Statistics {
  double median = 0, min = 0, max = 0, q1 = 0, q3 = 0, p99 = 0, mean = 0, stdev = 0, mad = 0;
  double low = 0, high = 0;  // 95 % confidence interval of the median, from order statistics
  int64_t n = 0;
};

// Quantiles interpolate linearly between order statistics (Hyndman and Fan, type 7). `stdev` is the
// sample standard deviation (n - 1), 0 for one sample. Throws std::invalid_argument if there are no
// samples.
DEEPBENCH_API Statistics summarize(const std::vector<double>& samples);

DEEPBENCH_API double mean(const std::vector<double>& samples);

DEEPBENCH_API double median(std::vector<double> samples);

// The means of successive blocks of `length` samples; an incomplete last block is ignored.
DEEPBENCH_API std::vector<double> block_means(const std::vector<double>& samples, size_t length);

// The median of the absolute deviations from the median.
DEEPBENCH_API double median_absolute_deviation(const std::vector<double>& samples);

// The correlation of each sample with its successor; 0 for fewer than three samples or no
// variation.
DEEPBENCH_API double lag1_autocorrelation(const std::vector<double>& samples);

// The relative standard error of the median, 1.2533 * 1.4826 * MAD / (sqrt(n) * median). Where the
// autocorrelation at lag 1 is `max_autocorrelation` or more, it is the error of block means
// instead, with the shortest block length (2, 4, 8, ... samples, at least ten blocks) whose means
// correlate less; infinity if no block length qualifies.
DEEPBENCH_API double median_error(const std::vector<double>& samples, double max_autocorrelation);

}  // namespace deepbench
