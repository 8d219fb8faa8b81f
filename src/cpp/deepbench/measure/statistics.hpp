// Robust statistics of samples. Times in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

struct Statistics {
  double median = 0, min = 0, max = 0, q1 = 0, q3 = 0, p99 = 0, mean = 0, stdev = 0, mad = 0;
  double low = 0, high = 0;  // 95 % interval of the median from order statistics
  int64_t n = 0;
};

// Quantiles interpolate linearly between order statistics (Hyndman and Fan, type 7); stdev is the
// sample's (n - 1), 0 for one sample. Throws std::invalid_argument for no samples.
DEEPBENCH_API Statistics summarize(const std::vector<double>& samples);

DEEPBENCH_API double median(std::vector<double> samples);

// Of successive blocks of `length` samples; what does not fill the last one is left out.
DEEPBENCH_API std::vector<double> block_means(const std::vector<double>& samples, size_t length);

// Median of the distances from the median.
DEEPBENCH_API double median_absolute_deviation(const std::vector<double>& samples);

// Correlation of each sample with the next; 0 for fewer than three samples or no variation.
DEEPBENCH_API double lag1_autocorrelation(const std::vector<double>& samples);

// Relative standard error of the median, 1.2533 * 1.4826 * MAD / (sqrt(n) * median). Where
// successive samples are correlated by `max_autocorrelation` or more, that of the means of the
// shortest blocks (2, 4, 8, ... samples, at least ten blocks) that are not; infinity where no
// block length will do.
DEEPBENCH_API double median_error(const std::vector<double>& samples, double max_autocorrelation);

}  // namespace deepbench
