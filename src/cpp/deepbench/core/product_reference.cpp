// Computes the grid of outputs and the projections of matrix products in double precision.
#include "deepbench/core/product_reference.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "deepbench/core/input_generator.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/projection_bound.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // outputs x k; up to this every output is checked
constexpr double kMaxFullOutputs = 1 << 20;
constexpr double kGridWork = 1 << 24;  // grid points x k
constexpr int64_t kMaxGridWidth = 24;
// Fewer products do not repay another thread.
constexpr int64_t kMinThreadProducts = 1 << 17;
// The slope is judged by a square of outputs, as wide as tells a factor of 1.0003 from their
// rounding, if so many products allow it: 2^15 outputs in bfloat16, 2^12 in half. Fewer tell
// little.
constexpr double kSlopeWork = 1 << 26;
constexpr double kSlopeWidthOverRoundoff = 181 * 256;
constexpr int64_t kMinSlopeWidth = 64;
// Sums of fewer products are small too often to count how many round away.
constexpr double kManyTerms = 16;
constexpr double kFewOutputs = 16;  // that may be unchanged, however few are expected to

}  // namespace

bool ProductReference::checks_all_outputs(int64_t m, int64_t n, int64_t k) {
  const double outputs = double(m) * double(n);
  return outputs * double(k) <= kFullWork && outputs <= kMaxFullOutputs;
}

int64_t ProductReference::sample_grid_width(int64_t k) {
  return static_cast<int64_t>(
      std::clamp(std::sqrt(kGridWork / double(k)), 4.0, double(kMaxGridWidth)));
}

// The grid needs its rows, its columns and the expected values and bounds of its points. Each
// projected row needs three sums and one bound at a time, plus the vectors they are computed from.
double ProductReference::host_memory_bytes(int64_t m, int64_t n, int64_t k) {
  const bool all = checks_all_outputs(m, n, k);
  const int64_t width = sample_grid_width(k);
  const double rows = double(all ? m : std::min(m, width));
  const double columns = double(all ? n : std::min(n, width));
  const double grid = 4 * (rows + columns) * double(k) + 40 * rows * columns;
  return all ? grid : grid + 32 * double(m) + 12 * double(n) + 16 * double(k);
}

ExpectedOutput ProductReference::expected_output() {
  ExpectedOutput expected;
  expected.outputs = static_cast<uint64_t>(m_ * n_);
  add_growth(expected);
  if (checks_all_outputs(m_, n_, k_)) {
    expected.initial_values = add_grid(all_indices(m_), all_indices(n_), expected);
    expected.coverage = "all " + std::to_string(m_ * n_) + " outputs";
    if (const auto slope = slope_conditions())
      expected.slope = {ExpectedSlope::Of::kComparedElements, {}, slope->max_common_error};
    return expected;
  }
  expected.initial_values = add_grid(sampled_indices(m_, 11), sampled_indices(n_, 12), expected);
  add_unchanged_share(expected);
  add_projection(expected);
  add_slope(expected);
  expected.coverage = std::to_string(expected.indices.size()) + " of " + std::to_string(m_ * n_) +
                      " outputs and " + std::to_string(m_) + " projections of all";
  return expected;
}

ProductReference::Indices ProductReference::all_indices(int64_t size) {
  Indices all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Fills `chosen` up to `count` different indices below `size` with random ones; sorted.
ProductReference::Indices ProductReference::random_indices(int64_t size, int64_t count,
                                                           uint32_t stream, Indices chosen) const {
  if (size <= count) return all_indices(size);
  std::set<int64_t> unique(chosen.begin(), chosen.end());
  for (uint64_t i = 0; int64_t(unique.size()) < count; ++i)
    unique.insert(static_cast<int64_t>(deepbench_bits(seed_, stream, i) % uint64_t(size)));
  return Indices(unique.begin(), unique.end());
}

// Both ends, the borders of tiles of 16 to 256, and random indices.
ProductReference::Indices ProductReference::sampled_indices(int64_t size, uint32_t stream) const {
  const int64_t width = sample_grid_width(k_);
  Indices chosen = {0, size - 1};
  for (int64_t tile = 16; tile <= 256 && int64_t(chosen.size()) + 1 < width / 2; tile *= 2)
    if (tile < size) chosen.insert(chosen.end(), {tile - 1, tile});
  return random_indices(size, width, stream, std::move(chosen));
}

// Adds every combination of the given rows and columns.
std::vector<double> ProductReference::add_grid(const Indices& rows, const Indices& columns,
                                               ExpectedElements& expected) {
  const int64_t min_part = 1 + kMinThreadProducts / k_;
  const auto height = static_cast<int64_t>(rows.size()), all = height + int64_t(columns.size());
  set_grid_rows(rows.size());
  // Rows come first, then columns. The threads that fill the vectors also touch their pages first.
  const std::unique_ptr<float[]> vectors(new float[size_t(all * k_)]);
  parallel_for(all, min_part, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      float* const vector = vectors.get() + i * k_;
      if (i < height)
        generate_row_of_a(size_t(i), rows[size_t(i)], vector);
      else
        generate_column_of_b(columns[size_t(i - height)], vector);
    }
  });

  const size_t points = rows.size() * columns.size();
  expected.resize(points);
  std::vector<double> initial(points);
  parallel_for(int64_t(points), min_part, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t r = index % height, l = index / height;
      const DotSums sums = dot_sums(vectors.get() + r * k_, vectors.get() + (height + l) * k_, k_);
      const int64_t i = rows[size_t(r)], j = columns[size_t(l)];
      const ExpectedElement expected_point = expected_element(sums, size_t(r), i, j);
      expected.indices[size_t(index)] = static_cast<uint64_t>(i + j * m_);
      expected.values[size_t(index)] = expected_point.value;
      expected.bounds[size_t(index)] = expected_point.bound;
      initial[size_t(index)] = expected_point.initial;
    }
  });
  return initial;
}

void ProductReference::add_slope(ExpectedOutput& expected) {
  const auto slope = slope_conditions();
  if (!slope) return;
  const auto wanted = static_cast<int64_t>(kSlopeWidthOverRoundoff * slope->output_roundoff);
  const auto width = std::min(static_cast<int64_t>(std::sqrt(kSlopeWork / double(k_))),
                              std::max(wanted, kMinSlopeWidth));
  if (width < kMinSlopeWidth) return;
  expected.slope = {ExpectedSlope::Of::kElements, {}, slope->max_common_error};
  add_grid(random_indices(m_, width, 13), random_indices(n_, width, 14), expected.slope->elements);
}

// Without C, calls in place do not add up. A bound has the terms output_roundoff |c| and r sqrt(S^2
// + c'^2 + c^2), where c' and c are the output before and after the call; both may have grown, so
// that the second term has grown by at most sqrt(2) r times as much.
void ProductReference::add_growth(ExpectedOutput& expected) const {
  if (beta_ == 1) expected.growth = {std::sqrt(2.0) * relative_bound(), largest_result()};
}

// A product rounds away where it is less than half of C's last place, which is a third of the
// roundoff on average, and one of integers where it is 0. The density of a sum of k random products
// is at most 1/2 over its deviation. Twice the mean allows for rows of A that are smaller than
// others, and six deviations of the number of outputs for chance.
void ProductReference::add_unchanged_share(ExpectedOutput& expected) const {
  const Operand a = this->a(), b = this->b();
  if (mean_terms() < kManyTerms || a.stored.inputs.is_constant()) return;
  const double variance = mean_terms() *
                          a.stored.inputs.mean_square(a.stored.type, a.stored.stream) *
                          b.stored.inputs.mean_square(b.stored.type, b.stored.stream);
  const double rounded_away = c().stored.type == DEEPBENCH_S32 ? 0.5 : output_roundoff() / 3;
  const double outputs = double(expected.outputs);
  const double unchanged = outputs * rounded_away / std::sqrt(variance);
  const double most = 2 * unchanged + 6 * std::sqrt(unchanged) + kFewOutputs;
  expected.unchanged_share = std::min(expected.unchanged_share, most / outputs);
}

// The error of a projected row is a random sum of the errors of n single outputs, whose typical
// size follows from the mean square of B. The term 1e-13 covers the double-precision summation.
// Products of random operands cancel for the most part. Equal ones add up, all outputs are rounded
// alike, and the bound is doubled.
void ProductReference::add_projection(ExpectedOutput& expected) const {
  std::vector<float> run(static_cast<size_t>(n_));
  fill_weights(seed_, 0, n_, run.data());
  const std::vector<double> weights(run.begin(), run.end());
  const Operand a = this->a(), b = this->b(), c = this->c();
  MatrixSums total = multiply_by_vector_with_squares(
      a.stored, a.transposed, multiply_by_vector(b.stored, b.transposed, weights));
  if (beta_ != 0) {
    const std::vector<double> added = multiply_by_vector(c.stored, c.transposed, weights);
    for (size_t i = 0; i < total.sums.size(); ++i) total.sums[i] += beta_ * added[i];
    if (expected.growth) expected.growth->initial_projections = added;
  }
  expected.projections = std::move(total.sums);

  const double b_square = b.stored.inputs.mean_square(b.stored.type, b.stored.stream);
  const double c_square =
      beta_ * beta_ * c.stored.inputs.mean_square(c.stored.type, c.stored.stream);
  const double relative = relative_bound() + 1e-13 * (1 + std::sqrt(max_terms()));
  const double added_up = a.stored.inputs.is_constant() ? 4 * max_terms() : 1;
  expected.projection_bounds.resize(expected.projections.size());
  for (size_t i = 0; i < total.squares.size(); ++i)
    expected.projection_bounds[i] =
        projection_bound_over_typical(double(n_)) *
            std::sqrt(added_up * total.squares[i] * b_square + c_square) * relative +
        1e-300;
  expected.projection_rows = static_cast<uint64_t>(m_);
  expected.projection_seed = seed_;
}

}  // namespace deepbench
