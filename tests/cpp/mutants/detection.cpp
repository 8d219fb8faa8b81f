// The checks are independent: an error is missed if all of them miss it.
#include "detection.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace deepbench::testing {
namespace {

constexpr double kSlopeLimit = 4;  // as in run/row/verify.cpp

bool is_compared_in_full(const ExpectedOutput& expected) {
  return expected.exact_values || expected.indices.size() == expected.outputs;
}

bool exceeds_a_bound(const ExpectedOutput& expected, const std::vector<double>& right,
                     const std::vector<double>& wrong) {
  if (expected.exact_values) return right != wrong;
  for (size_t i = 0; i < expected.indices.size(); ++i)
    if (std::abs(wrong[expected.indices[i]] - expected.values[i]) > expected.bounds[i]) return true;
  return false;
}

// Errors that are judged together: their root mean square and their slope.
bool exceeds_a_part(const ExpectedOutput& expected, const std::vector<double>& wrong) {
  return std::any_of(expected.parts.begin(), expected.parts.end(), [&](const ExpectedPart& part) {
    double ratios = 0, excess = 0, squares = 0;
    for (size_t i = part.first; i < part.first + part.count; ++i) {
      const double r = expected.values[i], b = expected.bounds[i];
      const double error = wrong[expected.indices[i]] - r;
      ratios += error * error / (b * b);
      excess += error * r, squares += r * r;
    }
    return std::sqrt(ratios / double(part.count)) > part.max_error ||
           std::abs(excess / squares - part.rounding_slope) > part.max_slope;
  });
}

// How often the weighted sum of a row's errors lies within its bound. The weights are uniform in
// [-1, 1): no sum is denser than the largest of its terms, and a sum of many terms is normal.
double miss_of_row(double bound, double largest, double squares, size_t columns) {
  constexpr size_t kMany = 16;
  const double normal = columns < kMany ? 1 : std::erf(bound / std::sqrt(2 * squares / 3));
  return std::min({1.0, bound / largest, normal});
}

// Errors in r rows of r columns make r independent sums.
double miss_of_projections(const ExpectedOutput& expected, const std::vector<double>& right,
                           const std::vector<double>& wrong) {
  const uint64_t rows = expected.projection_rows;
  if (rows == 0) return 1;
  std::vector<double> largest(rows), squares(rows), misses;
  std::set<uint64_t> columns;
  for (size_t i = 0; i < right.size(); ++i) {
    if (right[i] == wrong[i]) continue;
    const double error = std::abs(wrong[i] - right[i]);
    largest[i % rows] = std::max(largest[i % rows], error);
    squares[i % rows] += error * error;
    columns.insert(i / rows);
  }
  for (size_t row = 0; row < rows; ++row)
    if (largest[row] > 0)
      misses.push_back(
          miss_of_row(expected.projection_bounds[row], largest[row], squares[row], columns.size()));
  std::sort(misses.begin(), misses.end());
  double all = 1;
  for (size_t i = 0; i < std::min(misses.size(), columns.size()); ++i) all *= misses[i];
  return all;
}

double miss_of_any(size_t wrong, const ExpectedOutput& expected) {
  double miss = 1, others = double(expected.outputs);
  for (size_t i = 0; i < wrong; ++i, --others)
    miss *= std::max(0.0, 1 - double(expected.indices.size()) / others);
  return miss;
}

double miss_of_lines(const std::vector<size_t>& wrong, size_t outputs,
                     const ComparedPlaces& compared) {
  const auto rows = size_t(compared.rows);
  std::set<size_t> wrong_rows, wrong_columns;
  for (const size_t i : wrong) {
    wrong_rows.insert(i % rows);
    wrong_columns.insert(i / rows);
  }
  const double right_rows = 1 - double(wrong_rows.size()) / double(rows),
               right_columns = 1 - double(wrong_columns.size()) * double(rows) / double(outputs);
  return std::pow(right_rows, compared.row_lines) * std::pow(right_columns, compared.column_lines);
}

double miss_of_columns(const std::vector<size_t>& wrong, size_t rows) {
  std::map<size_t, double> wrong_of_column;
  for (const size_t i : wrong) ++wrong_of_column[i / rows];
  double miss = 1;
  for (const auto& [column, count] : wrong_of_column) miss *= 1 - count / double(rows);
  return miss;
}

// Only errors count that exceed every bound.
double miss_of_samples(const ExpectedOutput& expected, const std::vector<double>& right,
                       const std::vector<double>& wrong, const ComparedPlaces& compared) {
  const double bound = *std::max_element(expected.bounds.begin(), expected.bounds.end());
  std::vector<size_t> places;
  for (size_t i = 0; i < right.size(); ++i)
    if (std::abs(right[i] - wrong[i]) > 2 * bound) places.push_back(i);
  switch (compared.which) {
    case ComparedPlaces::Which::kLines:
      return miss_of_lines(places, right.size(), compared);
    case ComparedPlaces::Which::kOneOfColumn:
      return miss_of_columns(places, size_t(compared.rows));
    case ComparedPlaces::Which::kNone:
      if (expected.projection_rows > 0) return 1;
      break;
    case ComparedPlaces::Which::kAny:
      break;
  }
  return miss_of_any(places.size(), expected);
}

double miss_of_slope(const ExpectedOutput& expected, const std::vector<double>& right,
                     const std::vector<double>& wrong) {
  if (!expected.slope || expected.slope->of != ExpectedSlope::Of::kProjections) return 1;
  double errors = 0, squares = 0, product = 0, outputs = 0;
  for (size_t i = 0; i < expected.projections.size(); ++i) {
    const double r = expected.projections[i], b = 0.5 * expected.projection_bounds[i];
    errors += b * b * r * r, squares += r * r;
  }
  for (size_t i = 0; i < right.size(); ++i)
    product += wrong[i] * right[i], outputs += right[i] * right[i];
  const double limit = kSlopeLimit * std::sqrt(errors) / squares + expected.slope->max_common_error;
  return std::abs(product / outputs - 1) > 2 * limit ? 0 : 1;
}

}  // namespace

double detection_probability(const ExpectedOutput& expected, const std::vector<double>& right,
                             const std::vector<double>& wrong, const ComparedPlaces& compared) {
  if (is_compared_in_full(expected))
    return exceeds_a_bound(expected, right, wrong) || exceeds_a_part(expected, wrong) ? 1 : 0;
  return 1 - miss_of_projections(expected, right, wrong) *
                 miss_of_samples(expected, right, wrong, compared) *
                 miss_of_slope(expected, right, wrong);
}

double sweep_detection_probability(const Rnn& rnn, const ExpectedOutput& expected,
                                   const std::vector<double>& exact,
                                   const std::vector<double>& wrong) {
  constexpr int64_t kSteps = 4;
  const double bound = *std::max_element(expected.bounds.begin(), expected.bounds.end());
  const int64_t places = rnn.cell == "lstm" ? 1 : rnn.timesteps - kSteps + 1;
  const auto is_off = [&](int64_t unit, int64_t n, int64_t begin) {
    for (int64_t t = begin; t < begin + kSteps; ++t) {
      const auto i = size_t((t * rnn.batch + n) * rnn.hidden + unit);
      if (std::abs(wrong[i] - exact[i]) > bound) return true;
    }
    return false;
  };
  int64_t most = 0;
  for (int64_t unit = 0; unit < rnn.hidden; ++unit) {
    int64_t found = 0;
    for (int64_t n = 0; n < rnn.batch; ++n)
      for (int64_t begin = 0; begin < places; ++begin) found += is_off(unit, n, begin);
    most = std::max(most, found);
  }
  return double(most) / double(rnn.batch * places);
}

}  // namespace deepbench::testing
