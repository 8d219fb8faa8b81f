// The float64 reference of norm. It computes sampled elements of sampled sets and of the whole, and
// a projection of all elements.
//
// Libraries keep sums in float. A sum of n values in any order is off by sum_error(n) of the sum of
// their magnitudes, and a variance may be computed as the mean square less the squared mean. What
// is wrong with the statistics of a set is wrong in all its elements; each element adds the
// rounding of its own few operations in float and of its type. Since errors of rounding cancel and
// a factor does not, the elements of a set are also judged together, by their slope.
#include "deepbench/ops/norm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/stratified_sample.hpp"

namespace deepbench {
namespace {

constexpr int64_t kFewElements = 1 << 16;  // up to this many elements, all are compared
constexpr int64_t kSampledElements = 1 << 14;
constexpr int64_t kSampledSets = 64;
constexpr uint32_t kPlaces = 23;  // random stream of the compared places
constexpr int64_t kMinPart = 1 << 16;
constexpr int64_t kBlock = 1024;
constexpr double kSlopeDeviations = 4;  // as in run/row/verify.cpp
// The number of roundings of an element's own operations in float: the subtraction, products and
// sums.
constexpr double kRoundings = 6;

// If values of one sign are summed one after another, the standard deviation of the error is
// sqrt(n) / 3 roundoffs of the sum; other orders have a smaller one.
double sum_error(double n) { return (2 * std::sqrt(n) + 4) * kRoundoffFloat; }

// A value and its error bounds: the error of its set's statistics, and its own rounding error,
// which is independent of other elements.
struct Expected {
  double value = 0, set_error = 0, rounding = 0;
  double bound() const { return set_error + rounding; }
};

// Sums over a set or a part of it. x is relative to the offset of its values, so that the variance
// loses no digits.
struct SetSums {
  double x = 0, xx = 0, h = 0, hx = 0;
  void add(const SetSums& other) { x += other.x, xx += other.xx, h += other.h, hx += other.hx; }
};

struct Set {
  double mean = 0, variance = 0, deviation = 0;  // the inverse deviation
  double mean_h = 0, mean_hz = 0;
  // The first two errors are absolute, and the third one is relative.
  double mean_error = 0, variance_error = 0, deviation_error = 0;
  double mean_h_error = 0, mean_hz_error = 0;
};

// Sums over the rows of one column.
struct ColumnSums {
  double sum = 0, magnitude = 0, squared_errors = 0;
  void add(const ColumnSums& other) {
    sum += other.sum, magnitude += other.magnitude, squared_errors += other.squared_errors;
  }
};

// Consecutive elements of one row.
struct Block {
  int64_t first = 0, count = 0, column = 0;
  float x[kBlock], dy[kBlock] = {};  // 0 in a forward pass
};

class NormReference {
 public:
  NormReference(const Norm& norm, const KernelConditions& conditions)
      : norm_(norm),
        generator_(conditions.seed, conditions.inputs),
        verification_seed_(conditions.verification_seed),
        scale_(column_values(Norm::kScaleValues)),
        shift_(norm.part_elements(NormPart::kShift) ? column_values(Norm::kShiftValues)
                                                    : std::vector<float>(size_t(norm.columns))),
        sets_(norm.has_running_statistics() ? running_statistics() : computed_statistics()) {}

  ExpectedOutput matrix() const;  // y or dx
  ExpectedOutput means() const;
  ExpectedOutput spreads(bool is_variance) const;
  ExpectedOutput column_gradients(NormPart part) const;

 private:
  std::vector<float> generated(const NormValues& values, int64_t count) const {
    std::vector<float> made(static_cast<size_t>(count));
    generator_.fill(DEEPBENCH_F32, values.stream, 0, 1, count, made.data());
    for (float& value : made) value = values.element(value, DEEPBENCH_F32);
    return made;
  }
  std::vector<float> column_values(const NormValues& values) const {
    return generated(values, norm_.columns);
  }

  int64_t set_of(int64_t index) const {
    return norm_.kind == NormKind::kBatch ? index % norm_.columns : index / norm_.set_elements();
  }
  const Set& set_at(int64_t index) const { return sets_[size_t(set_of(index))]; }
  // The place of a member of a set.
  int64_t place(int64_t set, int64_t member) const {
    return norm_.kind == NormKind::kBatch ? set + member * norm_.columns
                                          : set * norm_.set_elements() + member;
  }

  void generate(const NormValues& values, const Block& block, float* out) const {
    generator_.fill(DEEPBENCH_F32, values.stream, uint64_t(block.first), 1, block.count, out);
    for (int64_t i = 0; i < block.count; ++i) out[i] = values.element(out[i], norm_.precision.c);
  }
  // Calls visit(block, part) for all elements, on several threads, each with its own part.
  void for_each_block(const std::function<void(const Block&, size_t part)>& visit) const;

  std::vector<Set> running_statistics() const;
  std::vector<Set> computed_statistics() const;
  std::vector<SetSums> sums_of_sets() const;
  Set set_of_sums(const SetSums& sums) const;

  Expected output_element(int64_t column, const Set& set, double x, double dy) const {
    return norm_.is_backward() ? gradient(column, set, x, dy) : normalized(column, set, x);
  }
  Expected normalized(int64_t column, const Set& set, double x) const;
  Expected gradient(int64_t column, const Set& set, double x, double dy) const;
  double stored_rounding(double value) const {
    return norm_.precision.output_roundoff * std::abs(value) + norm_.precision.absolute_roundoff();
  }
  // The error of z.
  static double z_error(const Set& set, double z) {
    return set.deviation * set.mean_error + std::abs(z) * set.deviation_error;
  }

  std::vector<ColumnSums> column_sums(NormPart part) const;
  Expected of_vector(double value, double error) const {
    return {value, error, kRoundoffFloat * std::abs(value)};
  }
  ExpectedOutput vector(int64_t count, const std::function<Expected(int64_t)>& element) const;
  std::vector<int64_t> sampled(int64_t of, int64_t count, uint64_t number) const {
    return stratified_sample(of, count, verification_seed_, kPlaces, number);
  }
  // A compared element.
  struct Compared {
    double x;
    Expected expected;
  };
  Compared compare(uint64_t index, ExpectedElements& expected) const;
  void compare_set(int64_t set, const std::vector<int64_t>& members,
                   ExpectedOutput& expected) const;
  void compare_others(ExpectedOutput& expected) const;
  void project(ExpectedOutput& expected) const;

  const Norm norm_;
  const InputGenerator generator_;
  const uint64_t verification_seed_;
  const std::vector<float> scale_, shift_;
  const std::vector<Set> sets_;
};

void NormReference::for_each_block(
    const std::function<void(const Block&, size_t part)>& visit) const {
  parallel_for(norm_.elements(), kMinPart, [&](int64_t begin, int64_t end, int part) {
    Block block;
    for (block.first = begin; block.first < end; block.first += block.count) {
      block.column = block.first % norm_.columns;
      block.count = std::min({kBlock, end - block.first, norm_.columns - block.column});
      generate(Norm::kXValues, block, block.x);
      if (norm_.is_backward()) generate(Norm::kDyValues, block, block.dy);
      visit(block, size_t(part));
    }
  });
}

std::vector<Set> NormReference::running_statistics() const {
  const std::vector<float> means = column_values(Norm::kMeanValues),
                           variances = column_values(Norm::kVarianceValues);
  std::vector<Set> sets(means.size());
  for (size_t i = 0; i < sets.size(); ++i) {
    sets[i].mean = means[i], sets[i].variance = variances[i];
    sets[i].deviation = 1 / std::sqrt(sets[i].variance + Norm::kEpsilon);
    sets[i].deviation_error = 4 * kRoundoffFloat;
  }
  return sets;
}

// Adds up the sums of the parts: a part may begin and end within sets that other parts share, and
// for batch it contains elements of all sets.
std::vector<SetSums> NormReference::sums_of_sets() const {
  struct Part {
    int64_t first = -1;
    std::vector<SetSums> sums;
  };
  std::vector<Part> parts(static_cast<size_t>(parallel_threads()));
  for_each_block([&](const Block& block, size_t number) {
    Part& part = parts[number];
    if (part.first < 0) part.first = norm_.kind == NormKind::kBatch ? 0 : set_of(block.first);
    for (int64_t i = 0; i < block.count; ++i) {
      const auto at = size_t(set_of(block.first + i) - part.first);
      if (at >= part.sums.size()) part.sums.resize(at + 1);
      const double x = double(block.x[i]) - double(Norm::kXValues.offset);
      SetSums& sums = part.sums[at];
      sums.x += x, sums.xx += x * x;
      if (!norm_.is_backward()) continue;
      const double h = double(scale_[size_t(block.column + i)]) * double(block.dy[i]);
      sums.h += h, sums.hx += h * x;
    }
  });
  std::vector<SetSums> all(static_cast<size_t>(norm_.sets()));
  for (const Part& part : parts)
    for (size_t i = 0; i < part.sums.size(); ++i) all[size_t(part.first) + i].add(part.sums[i]);
  return all;
}

Set NormReference::set_of_sums(const SetSums& sums) const {
  const auto n = double(norm_.set_elements());
  const double offset = Norm::kXValues.offset, x = sums.x / n;
  const double centered = std::max(0.0, sums.xx / n - x * x);
  Set set;
  const double mean = offset + x, mean_square = centered + mean * mean;
  set.mean = norm_.has_mean() ? mean : 0;
  set.variance = norm_.has_mean() ? centered : mean_square;
  set.deviation = 1 / std::sqrt(set.variance + Norm::kEpsilon);
  if (norm_.has_mean()) set.mean_error = sum_error(n) * mean + kRoundoffFloat * mean;
  set.variance_error = sum_error(n) * (mean_square + 2 * set.mean * set.mean);
  set.deviation_error =
      0.5 * set.variance_error / (set.variance + Norm::kEpsilon) + 4 * kRoundoffFloat;
  if (!norm_.is_backward()) return set;
  // All h and x are positive: the sums of magnitudes are sums of the values.
  const double mean_h = sums.h / n, mean_hx = sums.hx / n + offset * mean_h;
  set.mean_h = norm_.has_mean() ? mean_h : 0;
  set.mean_hz = set.deviation * (mean_hx - set.mean * mean_h);
  if (norm_.has_mean()) set.mean_h_error = sum_error(n) * mean_h;
  set.mean_hz_error = sum_error(n) * set.deviation * (mean_hx + set.mean * mean_h) +
                      mean_h * set.deviation * set.mean_error +
                      std::abs(set.mean_hz) * set.deviation_error;
  return set;
}

std::vector<Set> NormReference::computed_statistics() const {
  const std::vector<SetSums> sums = sums_of_sets();
  std::vector<Set> sets(sums.size());
  std::transform(sums.begin(), sums.end(), sets.begin(),
                 [&](const SetSums& of) { return set_of_sums(of); });
  return sets;
}

Expected NormReference::normalized(int64_t column, const Set& set, double x) const {
  const double g = scale_[size_t(column)], b = shift_[size_t(column)];
  const double z = (x - set.mean) * set.deviation;
  Expected expected;
  expected.value = g * z + b;
  expected.set_error = std::abs(g) * z_error(set, z);
  // x and the mean may each be multiplied before they are subtracted.
  const double terms =
      std::abs(g) * set.deviation * (std::abs(x) + std::abs(set.mean)) + std::abs(b);
  expected.rounding = stored_rounding(expected.value) + kRoundings * kRoundoffFloat * terms;
  return expected;
}

Expected NormReference::gradient(int64_t column, const Set& set, double x, double dy) const {
  const double d = set.deviation, h = scale_[size_t(column)] * dy, z = (x - set.mean) * d;
  Expected expected;
  expected.value = d * (h - set.mean_h - z * set.mean_hz);
  expected.set_error = d * (set.mean_h_error + std::abs(z) * set.mean_hz_error +
                            std::abs(set.mean_hz) * z_error(set, z)) +
                       std::abs(expected.value) * set.deviation_error;
  const double terms = d * (std::abs(h) + std::abs(set.mean_h) +
                            d * (std::abs(x) + std::abs(set.mean)) * std::abs(set.mean_hz));
  expected.rounding = stored_rounding(expected.value) + kRoundings * kRoundoffFloat * terms;
  return expected;
}

NormReference::Compared NormReference::compare(uint64_t index, ExpectedElements& expected) const {
  const auto element = [&](const NormValues& values) {
    const auto drawn = float(generator_.element(DEEPBENCH_F32, values.stream, index));
    return double(values.element(drawn, norm_.precision.c));
  };
  const double dy = norm_.is_backward() ? element(Norm::kDyValues) : 0;
  const double x = element(Norm::kXValues);
  const Expected of = output_element(int64_t(index) % norm_.columns, set_at(int64_t(index)), x, dy);
  expected.indices.push_back(index);
  expected.values.push_back(of.value);
  expected.bounds.push_back(of.bound());
  return {x, of};
}

void NormReference::compare_set(int64_t number, const std::vector<int64_t>& members,
                                ExpectedOutput& expected) const {
  ExpectedPart part = {expected.indices.size(), members.size(), 1};
  double squares = 0, common = 0, rounded = 0;
  // In a column, equal values of x have equal rounding errors, which do not cancel.
  const bool is_column = norm_.kind == NormKind::kBatch;
  std::map<double, double> roundings;
  for (const int64_t member : members) {
    const auto index = uint64_t(place(number, member));
    const auto [x, of] = compare(index, expected);
    squares += of.value * of.value;
    rounded += (rounded_to(norm_.precision.c, float(of.value)) - of.value) * of.value;
    roundings[is_column ? x : double(index)] += of.rounding * std::abs(of.value);
    common += std::abs(of.value) * of.set_error;
  }
  if (squares == 0) return;
  double squared_roundings = 0;
  for (const auto& [x, rounding] : roundings) squared_roundings += rounding * rounding;
  part.max_slope = (kSlopeDeviations * std::sqrt(squared_roundings) + common) / squares;
  part.rounding_slope = rounded / squares;
  expected.parts.push_back(part);
}

// Compares elements that are spread evenly over the whole, besides those of sampled sets.
void NormReference::compare_others(ExpectedOutput& expected) const {
  const std::set<uint64_t> compared(expected.indices.begin(), expected.indices.end());
  for (const int64_t index : sampled(norm_.elements(), kFewElements, 0))
    if (compared.count(uint64_t(index)) == 0) compare(uint64_t(index), expected);
}

struct Projection {
  double sum = 0, squared_bounds = 0, largest_bound = 0, squares = 0;

  void add(double weight, const Expected& element) {
    const double bound = element.bound();
    sum += weight * element.value;
    squares += element.value * element.value;
    squared_bounds += bound * bound;
    largest_bound = std::max(largest_bound, bound);
  }
  void add(const Projection& other) {
    sum += other.sum, squares += other.squares, squared_bounds += other.squared_bounds;
    largest_bound = std::max(largest_bound, other.largest_bound);
  }
  // The weights are independent of the errors, so that errors of one sign cancel as well.
  void store_in(ExpectedOutput& expected, uint64_t seed) const {
    expected.projection_rows = 1;
    expected.projection_seed = seed;
    expected.projections = {sum};
    expected.projection_bounds = {2 * std::sqrt(squared_bounds) + 6 * largest_bound +
                                  8 * kRoundoffDouble *
                                      std::sqrt(double(expected.outputs) * squares)};
  }
};

void NormReference::project(ExpectedOutput& expected) const {
  std::vector<Projection> parts(static_cast<size_t>(parallel_threads()));
  for_each_block([&](const Block& block, size_t part) {
    float weights[kBlock];
    fill_weights(verification_seed_, uint64_t(block.first), block.count, weights);
    Projection projection;
    for (int64_t i = 0; i < block.count; ++i)
      projection.add(weights[i], output_element(block.column + i, set_at(block.first + i),
                                                block.x[i], block.dy[i]));
    parts[part].add(projection);
  });
  Projection all;
  for (const Projection& part : parts) all.add(part);
  all.store_in(expected, verification_seed_);
}

std::string coverage(const ExpectedOutput& expected) {
  if (expected.indices.size() == expected.outputs)
    return "all " + std::to_string(expected.outputs) + " outputs";
  return std::to_string(expected.indices.size()) + " of " + std::to_string(expected.outputs) +
         " outputs and a projection of all";
}

ExpectedOutput NormReference::matrix() const {
  ExpectedOutput expected;
  expected.outputs = uint64_t(norm_.elements());
  const bool all = norm_.elements() <= kFewElements;
  const std::vector<int64_t> sets = sampled(norm_.sets(), all ? norm_.sets() : kSampledSets, 0);
  const int64_t members = all ? norm_.set_elements() : kSampledElements / int64_t(sets.size());
  for (const int64_t set : sets)
    compare_set(set, sampled(norm_.set_elements(), members, uint64_t(set) + 1), expected);
  if (!all) {
    compare_others(expected);
    project(expected);
  }
  expected.coverage = coverage(expected);
  return expected;
}

ExpectedOutput NormReference::vector(int64_t count,
                                     const std::function<Expected(int64_t)>& element) const {
  ExpectedOutput expected;
  expected.outputs = uint64_t(count);
  for (const int64_t i : sampled(count, kFewElements, 0)) {
    const Expected of = element(i);
    expected.indices.push_back(uint64_t(i));
    expected.values.push_back(of.value);
    expected.bounds.push_back(of.bound());
  }
  if (count > kFewElements) {
    Projection projection;
    for (int64_t i = 0; i < count; ++i)
      projection.add(deepbench_weight(verification_seed_, uint64_t(i)), element(i));
    projection.store_in(expected, verification_seed_);
  }
  expected.coverage = coverage(expected);
  return expected;
}

ExpectedOutput NormReference::means() const {
  return vector(norm_.sets(), [&](int64_t i) {
    const Set& set = sets_[size_t(i)];
    return of_vector(set.mean, set.mean_error);
  });
}

ExpectedOutput NormReference::spreads(bool is_variance) const {
  return vector(norm_.sets(), [&](int64_t i) {
    const Set& set = sets_[size_t(i)];
    return is_variance ? of_vector(set.variance, set.variance_error)
                       : of_vector(set.deviation, set.deviation * set.deviation_error);
  });
}

// z may be computed from products of x and of the mean: their magnitudes then determine the error.
std::vector<ColumnSums> NormReference::column_sums(NormPart part) const {
  std::vector<std::vector<ColumnSums>> parts(static_cast<size_t>(parallel_threads()));
  for_each_block([&](const Block& block, size_t number) {
    std::vector<ColumnSums>& columns = parts[number];
    columns.resize(static_cast<size_t>(norm_.columns));
    for (int64_t i = 0; i < block.count; ++i) {
      const double dy = block.dy[i], x = block.x[i];
      ColumnSums& column = columns[size_t(block.column + i)];
      if (part == NormPart::kDshift) {
        column.sum += dy, column.magnitude += std::abs(dy);
        continue;
      }
      const Set& set = set_at(block.first + i);
      const double z = (x - set.mean) * set.deviation, error = dy * z_error(set, z);
      column.sum += dy * z;
      column.magnitude += std::abs(dy) * set.deviation * (std::abs(x) + std::abs(set.mean));
      column.squared_errors += error * error;
    }
  });
  std::vector<ColumnSums> all(static_cast<size_t>(norm_.columns));
  for (const std::vector<ColumnSums>& columns : parts)
    for (size_t i = 0; i < columns.size(); ++i) all[i].add(columns[i]);
  return all;
}

// The errors of rows' statistics are independent of one another, but a column has a single error.
ExpectedOutput NormReference::column_gradients(NormPart part) const {
  const std::vector<ColumnSums> sums = column_sums(part);
  const auto rows = double(norm_.rows);
  return vector(norm_.columns, [&](int64_t i) {
    const ColumnSums& of = sums[size_t(i)];
    double error = sum_error(rows) * of.magnitude;
    if (part == NormPart::kDscale)
      error += norm_.kind == NormKind::kBatch ? std::sqrt(rows * of.squared_errors)
                                              : 3 * std::sqrt(of.squared_errors);
    return of_vector(of.sum, error);
  });
}

}  // namespace

ExpectedOutput expected_norm_output(const Norm& norm, const KernelConditions& conditions) {
  const NormReference reference(norm, conditions);
  const NormPart part = norm.outputs().at(conditions.output);
  switch (part) {
    case NormPart::kMean:
      return reference.means();
    case NormPart::kSpread:
      return reference.spreads(conditions.facts.text("statistics") == "variance");
    case NormPart::kDscale:
    case NormPart::kDshift:
      return reference.column_gradients(part);
    default:
      return reference.matrix();
  }
}

double norm_reference_bytes(const Norm& norm) {
  const double parts = norm.kind == NormKind::kBatch ? double(parallel_threads()) : 1;
  return double(norm.sets()) * (double(sizeof(Set)) + (parts + 1) * double(sizeof(SetSums))) +
         double(norm.columns) * (8 + double(sizeof(ColumnSums)) * (parallel_threads() + 1));
}

}  // namespace deepbench
