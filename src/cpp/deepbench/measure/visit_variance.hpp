// Estimates how far the visits of a row lie apart, from the row and from the rows of its class.
//
// Three visits show little of their variance. The variances of a class's rows are therefore assumed
// to scatter around a common variance, which is estimated from all of them: the moderated variance
// of Smyth (2004), fitted by the moments of the logarithms as in limma.
#pragma once

#include <cstddef>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

// The variance of a class of rows, and its weight in degrees of freedom: 0 if the class has too few
// rows, infinity if its rows do not differ more than chance explains.
struct VisitPrior {
  double degrees = 0;
  double variance = 0;
};

// The sample variance of the logarithms of a row's visits, with `degrees` = visits - 1.
struct VisitVariance {
  double degrees = 0;
  double variance = 0;
};

// The variance of the logarithms of at least two positive times.
DEEPBENCH_API VisitVariance visit_variance(const std::vector<double>& medians_ns);

// The prior of the rows of a class. Fewer than five rows have none.
DEEPBENCH_API VisitPrior fit_visit_prior(const std::vector<VisitVariance>& rows);

// The time of a row, which is the geometric mean of its visits, with its 95 % interval.
struct VisitedTime {
  double ns = 0;
  double relative_error = 0;  // standard error of the logarithm
  double low_ns = 0, high_ns = 0;
};

// One visit has no interval: its limits are the time itself.
DEEPBENCH_API VisitedTime combine_medians(const std::vector<double>& medians_ns,
                                          const VisitPrior& prior);

// Student's quantile of 97.5 % for any positive degrees of freedom, infinity included.
DEEPBENCH_API double student_quantile(double degrees);

}  // namespace deepbench
