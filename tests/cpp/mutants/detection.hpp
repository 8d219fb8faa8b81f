// The probability, over the seeds of verification, that a wrong output is found: derived from what
// is compared, not from trying.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench::testing {

// Which places are compared beside those that a projection needs.
struct ComparedPlaces {
  enum class Which {
    kNone,         // none, or such as depend on each other; any, where there are no projections
    kAny,          // any outputs, as many as are compared
    kLines,        // random rows and columns
    kOneOfColumn,  // one random output of each column
  };
  Which which = Which::kNone;
  int64_t rows = 1;  // of the output as a column-major matrix
  int row_lines = 0, column_lines = 0;
};

// `right` and `wrong`: what the output holds after the call, as stored.
//   complete      1, if an error exceeds its bound, or the errors of a part together
//   projections   1 - R^-r: each of r independent ones hides an error R times its bound with a
//                 probability of 1/R
//   samples       whether one of the wrong outputs is among those drawn: hypergeometric, or the
//                 share of rows and columns in which an error shows
//   slope         1, if the factor of all outputs exceeds the limit
double detection_probability(const ExpectedOutput& expected, const std::vector<double>& right,
                             const std::vector<double>& wrong, const ComparedPlaces& compared);

// Of a large recurrent layer: how often four steps of some unit at a random place, which are the
// first of a sequence in lstm, have an output that is off by more than every bound.
double sweep_detection_probability(const Rnn& rnn, const ExpectedOutput& expected,
                                   const std::vector<double>& exact,
                                   const std::vector<double>& wrong);

}  // namespace deepbench::testing
