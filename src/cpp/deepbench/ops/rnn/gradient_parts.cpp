// Locates the parts of a gradient's output and samples them.
#include "deepbench/ops/rnn/gradient_parts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "deepbench/core/stratified_sample.hpp"

namespace deepbench {
namespace {

// The errors of libraries reach half of a deviation, since not all permitted roundings occur.
// Normal errors of two deviations would also exceed the bounds of single elements.
constexpr double kMaxDeviations = 2;
constexpr uint32_t kPlaces = 3;     // random stream of the compared places
constexpr size_t kMinJudged = 256;  // fewer elements tell little
constexpr double kSlopeDeviations = 4;

// The compared elements from a certain one on.
struct Elements {
  std::vector<double> values, bounds;
  std::vector<double> errors;  // the largest deviations of a correct computation
  std::vector<size_t> places;  // places within their part

  // The standard deviation of the slope that the errors cause, if they are the same share of all
  // elements with the same key and independent of those with other keys.
  template <class Key>
  double slope_of(const std::vector<double>& errors_of, size_t keys, const Key& key_of) const {
    std::vector<double> sums(keys);
    double squares = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      sums[key_of(i)] += errors_of[i] * std::abs(values[i]);
      squares += values[i] * values[i];
    }
    const double all = std::inner_product(sums.begin(), sums.end(), sums.begin(), 0.0);
    return squares > 0 ? std::sqrt(all) / squares : 0;
  }
};

// Storing an element adds at most the output's roundoff to the deviations, even to small ones.
Elements elements_of(const Rnn& rnn, const GradientPart& part, size_t first, double deviations,
                     const ExpectedElements& all) {
  Elements some;
  for (size_t i = first; i < all.indices.size(); ++i) {
    const double stored = rnn.precision.output_roundoff * std::abs(all.values[i]);
    some.values.push_back(all.values[i]);
    some.bounds.push_back(all.bounds[i]);
    some.errors.push_back(kMaxDeviations / deviations * std::max(0.0, all.bounds[i] - stored) +
                          stored);
    some.places.push_back(size_t(all.indices[i]) - size_t(part.first));
  }
  return some;
}

// Root mean square of the errors over the bounds; a bound of 0 counts as none.
double max_mean_error(const Elements& some) {
  double sum = 0;
  for (size_t i = 0; i < some.bounds.size(); ++i) {
    const double ratio = some.bounds[i] > 0 ? some.errors[i] / some.bounds[i] : 0;
    sum += ratio * ratio;
  }
  return std::sqrt(sum / double(some.bounds.size()));
}

// An error in the gradient of a unit's sum affects a row of dU, and an error of h affects a column.
// The errors of dx and dh0 come from many units: using whole bounds instead of deviations allows
// for errors that a few elements share.
double max_random_slope(const GradientPart& part, const Elements& some) {
  if (part.columns == 0)
    return kSlopeDeviations *
           some.slope_of(some.bounds, some.values.size(), [](size_t i) { return i; });
  const auto columns = size_t(part.columns), rows = size_t(part.count) / columns;
  return kSlopeDeviations *
         std::max(
             some.slope_of(some.errors, rows, [&](size_t i) { return some.places[i] / columns; }),
             some.slope_of(some.errors, columns,
                           [&](size_t i) { return some.places[i] % columns; }));
}

}  // namespace

std::vector<GradientPart> gradient_parts(const Rnn& rnn) {
  std::vector<GradientPart> parts;
  if (rnn.has_data_gradient()) {
    parts.push_back({0, rnn.dx_elements(), rnn.hidden});
    parts.push_back({rnn.dx_elements(), rnn.dh0_elements(), rnn.hidden});
  }
  if (!rnn.has_weight_gradient()) return parts;
  const int64_t first = rnn.dx_elements() + rnn.dh0_elements(), square = rnn.hidden * rnn.hidden;
  for (int64_t gate = 0; gate < rnn.gates(); ++gate)
    parts.push_back({first + gate * square, square, rnn.timesteps * rnn.batch, rnn.hidden});
  return parts;
}

std::vector<uint64_t> sample_part(const GradientPart& part, int64_t max_count, uint64_t seed) {
  std::vector<uint64_t> indices;
  for (const int64_t i :
       stratified_sample(part.count, max_count, seed, kPlaces, uint64_t(part.first)))
    indices.push_back(uint64_t(part.first + i));
  return indices;
}

std::vector<uint64_t> sample_grid(const GradientPart& part, int64_t max_count, uint64_t seed) {
  if (part.columns == 0 || part.count <= max_count) return sample_part(part, max_count, seed);
  const int64_t rows = part.count / part.columns;
  const auto side = int64_t(std::sqrt(double(max_count)));
  const std::vector<int64_t> some_columns = stratified_sample(
      part.columns, std::max(side, max_count / rows), seed, kPlaces, uint64_t(part.first));
  std::vector<uint64_t> indices;
  for (const int64_t row : stratified_sample(rows, max_count / int64_t(some_columns.size()), seed,
                                             kPlaces, uint64_t(part.first) + 1))
    for (const int64_t column : some_columns)
      indices.push_back(uint64_t(part.first + row * part.columns + column));
  return indices;
}

void judge_together(const Rnn& rnn, const GradientPart& part, size_t first, double deviations,
                    ExpectedOutput& expected) {
  const size_t count = expected.indices.size() - first;
  if (size_of(rnn.precision.c) > 2 || count < kMinJudged) return;
  const Elements some = elements_of(rnn, part, first, deviations, expected);
  expected.parts.push_back(
      {first, count, max_mean_error(some),
       max_random_slope(part, some) +
           common_error_of_sums(double(part.terms), rnn.precision.sum_roundoff)});
}

std::string coverage_text(size_t checked, int64_t outputs) {
  const std::string all = std::to_string(outputs) + " outputs";
  return int64_t(checked) == outputs ? "all " + all : std::to_string(checked) + " of " + all;
}

}  // namespace deepbench
