// Derives the values and bounds of the sum of several calls from those of a single call.
//
// Each call adds p to an output whose first value is c: after n calls it is c + n p. Each call has
// the error of the first one, and call i + 1 has in addition the error of rounding a sum that is
// larger by i p. The bound is therefore n b + n (n - 1) / 2 g |p|, where b is the first call's
// bound and g is the roundoff of this growth. In a projection these are the errors of a row of
// outputs and of either sign: if each is assumed to have the largest compared |p|, they add up to
// less than twice the root of their number. An element that every call overwrites keeps the value
// and the bound of a single call.
#include "deepbench/run/row/sum_of_calls.hpp"

#include <algorithm>
#include <cmath>

namespace deepbench {
namespace {

class Summation {
 public:
  Summation(const ExpectedOutput& expected, uint64_t calls)
      : expected_(expected), growth_(*expected.growth), calls_(calls) {}

  std::optional<SumOfCalls> sum(const std::vector<size_t>& positions) {
    for (const size_t position : positions) add_element(position);
    for (size_t row = 0; row < growth_.initial_projections.size(); ++row) add_projection(row);
    if (!shows_half_ || leaves_range_) return std::nullopt;
    return std::move(sum_);
  }

 private:
  double bound(double first_bound, double growth_of_rounding) const {
    const double n = double(calls_);
    return n * first_bound + n * (n - 1) / 2 * growth_.roundoff * growth_of_rounding;
  }

  // If only half of the calls are made, the value differs, and it also has an error.
  void look_at(double added, double bound) {
    const double missing = std::abs(added) * double(calls_ / 2);
    shows_half_ = shows_half_ || calls_ == 1 || missing > 2 * bound;
  }

  void expect_element(size_t position, double value, double error) {
    sum_.elements.indices.push_back(expected_.indices[position]);
    sum_.elements.values.push_back(value);
    sum_.elements.bounds.push_back(error);
  }

  void add_element(size_t position) {
    const double first = expected_.values[position], bound_of_first = expected_.bounds[position];
    if (std::isnan(expected_.initial_values[position]))
      return expect_element(position, first, bound_of_first);
    const double added = first - expected_.initial_values[position];
    const double value = first + double(calls_ - 1) * added;
    const double error = bound(bound_of_first, std::abs(added));
    expect_element(position, value, error);
    largest_added_ = std::max(largest_added_, std::abs(added));
    leaves_range_ = leaves_range_ || std::abs(value) + error > growth_.largest;
    look_at(added, error);
  }

  void add_projection(size_t row) {
    const double columns = double(expected_.outputs) / double(expected_.projection_rows);
    const double added = expected_.projections[row] - growth_.initial_projections[row];
    const double error =
        bound(expected_.projection_bounds[row], 2 * std::sqrt(columns) * largest_added_);
    sum_.projections.push_back(expected_.projections[row] + double(calls_ - 1) * added);
    sum_.projection_bounds.push_back(error);
    look_at(added, error);
  }

  const ExpectedOutput& expected_;
  const ExpectedGrowth& growth_;
  const uint64_t calls_;
  SumOfCalls sum_;
  double largest_added_ = 0;
  bool shows_half_ = false, leaves_range_ = false;
};

}  // namespace

std::optional<SumOfCalls> sum_of_calls(const ExpectedOutput& expected,
                                       const std::vector<size_t>& positions, uint64_t calls) {
  if (!expected.growth) return std::nullopt;
  return Summation(expected, calls).sum(positions);
}

}  // namespace deepbench
