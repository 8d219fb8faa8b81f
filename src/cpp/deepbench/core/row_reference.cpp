// Chooses what is compared, and projects the rows.
//
// A projection sums an element of all rows with random weights. Errors of single outputs are
// independent: their weighted sum exceeds six times the root of the sum of squared bounds less
// often than once in 10^8 problems. Where values are exact, only the rounding of sums in double
// remains.
#include "deepbench/core/row_reference.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/stratified_sample.hpp"
#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr int64_t kComparedInFull = 1 << 16;
constexpr int64_t kExactInFull = int64_t{1} << 22;
constexpr int64_t kSampledElements = 1 << 14;
constexpr int64_t kLeastSampledRows = 3, kMostSampledRows = 256;
constexpr int64_t kMinPart = 4;
constexpr uint32_t kRows = 11, kPlaces = 13;  // random streams of the compared rows and elements
constexpr double kDeviations = 6;

// The sampled rows, and those that the reference adds.
std::vector<int64_t> sampled_rows(const RowReference& reference) {
  const int64_t count = std::clamp<int64_t>(kSampledElements / reference.width(), kLeastSampledRows,
                                            kMostSampledRows);
  std::vector<int64_t> rows =
      stratified_sample(reference.height(), count, reference.verification_seed(), kRows);
  for (const int64_t row : reference.further_rows()) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

// The elements of sampled rows, and others that are spread evenly over the whole output.
std::vector<uint64_t> compared_places(const RowReference& reference) {
  const int64_t width = reference.width(), outputs = reference.height() * width;
  std::vector<uint64_t> places;
  for (const int64_t place :
       stratified_sample(outputs, kComparedInFull, reference.verification_seed(), kPlaces))
    places.push_back(uint64_t(place));
  if (int64_t(places.size()) == outputs) return places;
  for (const int64_t row : sampled_rows(reference))
    for (int64_t i = 0; i < width; ++i) places.push_back(uint64_t(row * width + i));
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

// Sets the compared elements that belong to the row.
void compare_row(const RowReference& reference, int64_t row, const ExpectedRow& computed,
                 ExpectedOutput& expected) {
  const auto first = uint64_t(row * reference.width()), end = first + uint64_t(reference.width());
  const std::vector<uint64_t>& places = expected.indices;
  auto at = size_t(std::lower_bound(places.begin(), places.end(), first) - places.begin());
  for (; at < places.size() && places[at] < end; ++at) {
    const auto column = size_t(places[at] - first);
    expected.values[at] = computed.values[column];
    expected.bounds[at] = computed.bounds[column];
    if (!computed.initial.empty()) expected.initial_values[at] = computed.initial[column];
  }
}

struct Projection {
  explicit Projection(int64_t width)
      : sums(size_t(width)), initial(sums), squares(sums), magnitudes(sums) {}
  std::vector<double> sums, initial, squares, magnitudes;

  void add_row(const ExpectedRow& row, double weight) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += weight * row.values[i];
      squares[i] += row.bounds[i] * row.bounds[i];
      magnitudes[i] += std::abs(row.values[i]);
    }
    for (size_t i = 0; i < row.initial.size(); ++i) initial[i] += weight * row.initial[i];
  }
  void add(const Projection& part) {
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] += part.sums[i], initial[i] += part.initial[i];
      squares[i] += part.squares[i], magnitudes[i] += part.magnitudes[i];
    }
  }
};

// Computes all rows, for the compared elements and for the projection of the whole output.
Projection compute_rows(const RowReference& reference, ExpectedOutput& expected) {
  std::vector<Projection> parts(size_t(parallel_threads()), Projection(reference.width()));
  parallel_for(reference.height(), kMinPart, [&](int64_t begin, int64_t end, int part) {
    ExpectedRow computed;
    for (int64_t row = begin; row < end; ++row) {
      reference.compute_row(row, computed);
      compare_row(reference, row, computed, expected);
      parts[size_t(part)].add_row(computed,
                                  deepbench_weight(reference.verification_seed(), uint64_t(row)));
    }
  });
  Projection all(reference.width());
  for (const Projection& part : parts) all.add(part);
  return all;
}

void add_projection(const RowReference& reference, Projection all, ExpectedOutput& expected) {
  expected.projection_rows = uint64_t(reference.width());
  expected.projection_seed = reference.verification_seed();
  for (size_t i = 0; i < all.sums.size(); ++i)
    expected.projection_bounds.push_back(kDeviations * std::sqrt(all.squares[i]) +
                                         double(reference.height()) * kRoundoffDouble *
                                             all.magnitudes[i]);
  expected.projections = std::move(all.sums);
  if (expected.growth) expected.growth->initial_projections = std::move(all.initial);
}

void compare_rows(const RowReference& reference, ExpectedOutput& expected) {
  expected.indices = compared_places(reference);
  expected.resize(expected.indices.size());
  if (expected.growth) expected.initial_values.resize(expected.indices.size());
  Projection all = compute_rows(reference, expected);
  if (expected.indices.size() == expected.outputs) return;
  add_projection(reference, std::move(all), expected);
  expected.coverage = std::to_string(expected.indices.size()) + " of " +
                      std::to_string(expected.outputs) + " outputs and " +
                      std::to_string(expected.projections.size()) + " projections";
}

void set_exact_values(const std::shared_ptr<const RowReference>& reference,
                      ExpectedOutput& expected) {
  expected.exact_values = [reference](uint64_t first, uint64_t count, double* values) {
    const auto width = uint64_t(reference->width());
    ExpectedRow computed;
    for (uint64_t row = first / width; row * width < first + count; ++row) {
      reference->compute_row(int64_t(row), computed);
      const uint64_t begin = std::max(first, row * width),
                     end = std::min(first + count, (row + 1) * width);
      std::copy(computed.values.begin() + int64_t(begin - row * width),
                computed.values.begin() + int64_t(end - row * width), values + (begin - first));
    }
  };
}

}  // namespace

ExpectedOutput expected_rows(std::shared_ptr<const RowReference> reference) {
  const int64_t outputs = reference->height() * reference->width();
  ExpectedOutput expected;
  expected.outputs = uint64_t(outputs);
  expected.coverage = "all " + std::to_string(outputs) + " outputs";
  expected.growth = reference->growth();
  if (reference->is_exact() && outputs <= kExactInFull)
    set_exact_values(reference, expected);
  else
    compare_rows(*reference, expected);
  return expected;
}

double row_reference_bytes(int64_t width) {
  return 8.0 * double(sizeof(double)) * (parallel_threads() + 1) * double(width) +
         32.0 * double(kComparedInFull);
}

}  // namespace deepbench
