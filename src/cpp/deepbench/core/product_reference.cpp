// Computes the grid of outputs and the projections of matrix products in double precision.
#include "deepbench/core/product_reference.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
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

constexpr double kFullWork = 1 << 24;  // outputs x k up to which every output is compared
constexpr double kMaxFullOutputs = 1 << 20;
constexpr double kGridWork = 1 << 24;  // grid points x k
constexpr int64_t kMaxGridWidth = 24;
constexpr double kGridWorkAlone = 1 << 27;  // for a grid without projections
constexpr int64_t kMaxGridWidthAlone = 256;
// Number of rows and columns that are compared in full. After a relu, half of the elements of a
// wrong column may be right.
constexpr int64_t kLines = 2, kLinesAlone = 10;
constexpr int64_t kMaxLineOutputs = 1 << 19;  // in the compared rows, and in the compared columns
constexpr uint32_t kLineStream = 15;
// For fewer products, a further thread does not pay off.
constexpr int64_t kMinThreadProducts = 1 << 17;
constexpr int64_t kMinThreadPoints = 1 << 10;  // the same for outputs whose sums are known
// The slope is judged on a square of outputs that is wide enough to distinguish a factor of 1.0003
// from rounding: 2^15 outputs in bfloat16, 2^12 in half. kSlopeWork limits the products that this
// takes, and a square that is narrower than kMinSlopeWidth tells too little.
constexpr double kSlopeWork = 1 << 26;
constexpr double kSlopeWidthOverRoundoff = 181 * 256;
constexpr int64_t kMinSlopeWidth = 64;
// In sums of fewer products, which are often very small, the share that rounds away is not
// estimated.
constexpr double kManyTerms = 16;
constexpr double kFewOutputs = 16;  // outputs that may always be unchanged

std::vector<int64_t> first_columns(const std::vector<int64_t>& columns) {
  std::vector<int64_t> first(columns.size() + 1);
  std::partial_sum(columns.begin(), columns.end(), first.begin() + 1);
  return first;
}

}  // namespace

bool ProductReference::checks_all_outputs(int64_t m, int64_t n, int64_t k) {
  const double outputs = double(m) * double(n);
  return outputs * double(k) <= kFullWork && outputs <= kMaxFullOutputs;
}

int64_t ProductReference::sample_grid_width(int64_t k, int64_t products, bool is_linear) {
  const double work = is_linear ? kGridWork : kGridWorkAlone;
  const auto most = double(is_linear ? kMaxGridWidth : kMaxGridWidthAlone);
  return static_cast<int64_t>(
      std::clamp(std::sqrt(work / double(k) / double(products)), 4.0, most));
}

// The number of rows or columns that are compared in full, where one of them, or one of each
// product together, has `outputs` outputs. They cost as much as the projections and find less, so
// that one visit compares them.
int64_t ProductReference::compared_lines(int64_t outputs) const {
  if (is_linear() && !is_first_check_) return 0;
  return std::min(is_linear() ? kLines : kLinesAlone,
                  kMaxLineOutputs / std::max<int64_t>(outputs, 1));
}

// A grid needs the vectors of its shorter side, a few more for each thread, and the expected values
// and bounds of all its points. The grid of the slope has few points. Each projected row needs
// three sums and one bound at a time, two sums for each whole column, and the vectors from which
// they are computed.
double ProductReference::host_memory_bytes(int64_t m, int64_t n, int64_t k, int64_t products,
                                           bool is_linear) {
  const bool all = checks_all_outputs(m, n, k);
  const int64_t width = sample_grid_width(k, products, is_linear);
  const int64_t most_lines = is_linear ? kLines : kLinesAlone;
  const double rows = double(all ? m : std::min(m, width + most_lines));
  const double columns = double(all ? n : std::min(n, width + most_lines));
  const double points = rows * (all ? columns : std::min(double(n), columns * double(products)));
  const auto outputs_of_lines = [&](double outputs) {
    return std::min(double(most_lines) * outputs, double(kMaxLineOutputs));
  };
  const double line_outputs =
      outputs_of_lines(double(n)) + outputs_of_lines(double(m) * double(products));
  const double vectors = std::min(rows, columns) + double(kVectorsTogether) * kMaxParallelThreads;
  const double grid = 4 * (vectors * double(k) + std::sqrt(kSlopeWork * double(k))) +
                      40 * (points + (all ? 0 : line_outputs));
  const double projections = 32 * double(m) + 12 * double(n) + 16 * double(k);
  const int64_t column_lines = std::min(most_lines, kMaxLineOutputs / std::max<int64_t>(m, 1));
  const double lines_of_projection = double(column_lines) * (16 * double(m) + 8 * double(k));
  return all || !is_linear ? grid : grid + projections + lines_of_projection;
}

ProductReference::ProductReference(int64_t m, const std::vector<int64_t>& columns, int64_t k,
                                   const KernelConditions& conditions)
    : m_(m),
      k_(k),
      first_columns_(first_columns(columns)),
      n_(first_columns_.back()),
      beta_(conditions.beta),
      seed_(conditions.verification_seed),
      is_first_check_(!conditions.is_repeated && conditions.inputs != "integers") {}

ExpectedOutput ProductReference::expected_output() {
  ExpectedOutput expected;
  expected.outputs = static_cast<uint64_t>(m_ * n_);
  add_growth(expected);
  if (checks_all_outputs(m_, n_, k_)) {
    add_grid(all_indices(m_), all_indices(n_), expected, expected.initial_values);
    expected.coverage = "all " + std::to_string(m_ * n_) + " outputs";
    if (const auto slope = slope_conditions())
      expected.slope = {ExpectedSlope::Of::kComparedElements, {}, slope->max_common_error};
    return expected;
  }
  const ColumnLines lines = add_samples(expected);
  add_unchanged_share(expected);
  if (is_linear()) add_projection(lines, expected);
  add_slope(expected);
  expected.coverage =
      std::to_string(expected.indices.size()) + " of " + std::to_string(m_ * n_) + " outputs";
  if (is_linear()) expected.coverage += " and " + std::to_string(m_) + " projections of all";
  return expected;
}

ProductReference::Indices ProductReference::all_indices(int64_t size) {
  Indices all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Adds random indices below `size` to `chosen` until it has `count` different ones; sorted.
ProductReference::Indices ProductReference::random_indices(int64_t size, int64_t count,
                                                           uint32_t stream, Indices chosen,
                                                           uint64_t product) const {
  if (size <= count) return all_indices(size);
  std::set<int64_t> unique(chosen.begin(), chosen.end());
  for (uint64_t i = product << 32; int64_t(unique.size()) < count; ++i)
    unique.insert(static_cast<int64_t>(deepbench_bits(seed_, stream, i) % uint64_t(size)));
  return Indices(unique.begin(), unique.end());
}

// Returns the first and the last index, indices at the borders of tiles of 16 to 256, and random
// ones, all below `size`.
ProductReference::Indices ProductReference::sampled_indices(int64_t size, uint32_t stream,
                                                            uint64_t product) const {
  const int64_t width = sample_grid_width(k_, products(), is_linear());
  Indices chosen = {0, size - 1};
  for (int64_t tile = 16; tile <= 256 && int64_t(chosen.size()) + 1 < width / 2; tile *= 2)
    if (tile < size) chosen.insert(chosen.end(), {tile - 1, tile});
  return random_indices(size, width, stream, std::move(chosen), product);
}

// The indices below `size` that are not among the sorted `chosen`.
ProductReference::Indices ProductReference::others(const Indices& chosen, int64_t size) {
  const Indices all = all_indices(size);
  Indices rest;
  std::set_difference(all.begin(), all.end(), chosen.begin(), chosen.end(),
                      std::back_inserter(rest));
  return rest;
}

// Adds up to `count` random indices below `size` to the sorted `indices` and returns them. They
// differ from the indices that are there, as long as others exist.
ProductReference::Indices ProductReference::add_random_lines(int64_t size, int64_t count,
                                                             uint64_t number,
                                                             Indices& indices) const {
  const auto wanted = static_cast<int64_t>(indices.size()) + count;
  const Indices all = random_indices(size, wanted, kLineStream, indices, number);
  Indices lines;
  std::set_difference(all.begin(), all.end(), indices.begin(), indices.end(),
                      std::back_inserter(lines));
  indices = all;
  return random_indices(size, count, kLineStream, lines, number);
}

// The sampled columns of each product, and those among them that are compared in full.
ProductReference::SampledColumns ProductReference::sampled_columns() const {
  const int64_t used = std::count_if(first_columns_.begin() + 1, first_columns_.end(),
                                     [before = int64_t{0}](int64_t first) mutable {
                                       return std::exchange(before, first) < first;
                                     });
  const int64_t count = compared_lines(m_ * used);
  SampledColumns sampled;
  for (size_t product = 0; product + 1 < first_columns_.size(); ++product) {
    const int64_t first = first_columns_[product], size = first_columns_[product + 1] - first;
    if (size == 0) continue;
    Indices of_product = sampled_indices(size, 12, product);
    for (const int64_t column : add_random_lines(size, count, product + 1, of_product))
      sampled.lines.push_back(first + column);
    for (const int64_t column : of_product) sampled.all.push_back(first + column);
  }
  return sampled;
}

// Adds a grid and, at random, whole rows of all products and whole columns of each product. A row
// or column that is wrong as a whole is detected where it crosses them.
ProductReference::ColumnLines ProductReference::add_samples(ExpectedOutput& expected) {
  Indices rows = sampled_indices(m_, 11);
  const Indices row_lines = add_random_lines(m_, compared_lines(n_), 0, rows);
  const SampledColumns columns = sampled_columns();
  add_grid(rows, columns.all, expected, expected.initial_values);
  if (!row_lines.empty())
    add_grid(row_lines, others(columns.all, n_), expected, expected.initial_values);
  if (columns.lines.empty()) return {};
  const Indices other_rows = others(rows, m_);
  if (is_linear() && !depends_on_grid_rows()) return {other_rows, columns.lines};
  add_grid(other_rows, columns.lines, expected, expected.initial_values);
  return {};
}

// Adds every combination of the given rows of each product and the given columns, in ascending
// order.
void ProductReference::add_grid(const Indices& rows, const Indices& columns,
                                ExpectedElements& expected, std::vector<double>& initial) {
  if (rows.empty()) return;
  size_t begin = 0;
  for (size_t product = 0; product + 1 < first_columns_.size(); ++product) {
    const auto end = std::lower_bound(columns.begin() + int64_t(begin), columns.end(),
                                      first_columns_[product + 1]);
    const auto next = static_cast<size_t>(end - columns.begin());
    if (next > begin) add_grid_of_product(product, rows, columns, begin, next, expected, initial);
    begin = next;
  }
}

void ProductReference::set_point(const ExpectedElement& element, int64_t i, int64_t j, size_t point,
                                 ExpectedElements& expected, std::vector<double>& initial) const {
  expected.indices[point] = static_cast<uint64_t>(i + j * m_);
  expected.values[point] = element.value;
  expected.bounds[point] = element.bound;
  initial[point] = element.initial;
}

// Adds the columns with numbers from `first` to `end` - 1, which belong to one product. The vectors
// of the shorter side are kept. Each thread generates those of the longer side a few at a time, in
// memory that its caches hold, and multiplies them by all vectors that are kept.
void ProductReference::add_grid_of_product(size_t product, const Indices& rows,
                                           const Indices& columns, size_t first, size_t end,
                                           ExpectedElements& expected,
                                           std::vector<double>& initial) {
  const auto height = static_cast<int64_t>(rows.size()), width = static_cast<int64_t>(end - first);
  const bool keeps_rows = height < width;
  const int64_t kept_count = std::min(height, width);
  set_grid_rows(rows.size());
  const auto generate = [&](bool is_row, int64_t number, float* vector) {
    const auto place = static_cast<size_t>(number);
    if (is_row)
      generate_row_of_a(product, place, rows[place], vector);
    else
      generate_column_of_b(product, columns[first + place] - first_columns_[product], vector);
  };
  const std::unique_ptr<float[]> kept(new float[size_t(kept_count * k_)]);
  parallel_for(kept_count, 1 + kMinThreadProducts / k_, [&](int64_t begin, int64_t limit, int) {
    for (int64_t i = begin; i < limit; ++i) generate(keeps_rows, i, kept.get() + i * k_);
  });

  const size_t first_point = expected.indices.size();
  expected.resize(first_point + size_t(height * width));
  initial.resize(expected.indices.size());
  const auto add_point = [&](int64_t r, int64_t l, const DotSums& sums) {
    const int64_t i = rows[size_t(r)], j = columns[first + size_t(l)];
    set_point(expected_element(sums, size_t(r), i, j), i, j, first_point + size_t(r + l * height),
              expected, initial);
  };
  const int64_t min_part = 1 + kMinThreadProducts / (k_ * kept_count);
  parallel_for(std::max(height, width), min_part, [&](int64_t begin, int64_t limit, int) {
    const int64_t most = std::min<int64_t>(kVectorsTogether, limit - begin);
    const std::unique_ptr<float[]> vectors(new float[size_t(most * k_)]);
    std::vector<DotSums> sums(size_t(most * kept_count));
    for (int64_t number = begin; number < limit; number += most) {
      const int64_t count = std::min(most, limit - number);
      for (int64_t v = 0; v < count; ++v) generate(!keeps_rows, number + v, vectors.get() + v * k_);
      dot_sums_of_pairs(vectors.get(), count, kept.get(), kept_count, k_, sums.data());
      for (int64_t v = 0; v < count; ++v)
        for (int64_t i = 0; i < kept_count; ++i) {
          const DotSums& of_pair = sums[size_t(v * kept_count + i)];
          keeps_rows ? add_point(i, number + v, of_pair) : add_point(number + v, i, of_pair);
        }
    }
  });
}

void ProductReference::add_slope(ExpectedOutput& expected) {
  const auto slope = slope_conditions();
  if (!slope) return;
  const auto wanted = static_cast<int64_t>(kSlopeWidthOverRoundoff * slope->output_roundoff);
  const auto width = std::min(static_cast<int64_t>(std::sqrt(kSlopeWork / double(k_))),
                              std::max(wanted, kMinSlopeWidth));
  if (width < kMinSlopeWidth) return;
  expected.slope = {ExpectedSlope::Of::kElements, {}, slope->max_common_error};
  std::vector<double> initial;
  add_grid(random_indices(m_, width, 13), random_indices(n_, width, 14), expected.slope->elements,
           initial);
}

// Without C, calls in place do not add up. A bound has the terms output_roundoff |c| and r sqrt(S^2
// + c'^2 + c^2), where c' and c are the output before and after the call. Both may have grown, so
// that the second term has grown by at most sqrt(2) r times the growth.
void ProductReference::add_growth(ExpectedOutput& expected) const {
  if (beta_ == 1) expected.growth = {std::sqrt(2.0) * relative_bound(), largest_result()};
}

// An addend rounds away where it is less than half of C's last place, which is a third of the
// roundoff on average; in integers, where it is 0. The density of a sum of k random products is at
// most 1/2 over its standard deviation. The expected number of unchanged outputs is doubled, since
// some rows of A are smaller than others, and six standard deviations of this number are added for
// chance. Scales are omitted, because none makes a product smaller.
void ProductReference::add_unchanged_share(ExpectedOutput& expected) const {
  const Operand a = this->a(0), b = this->b(0);
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

std::vector<std::vector<double>> ProductReference::columns_of_b(size_t product,
                                                                const Indices& columns) const {
  std::vector<std::vector<double>> all;
  std::vector<float> vector(static_cast<size_t>(k_));
  for (const int64_t column : columns) {
    generate_column_of_b(product, column - first_columns_[product], vector.data());
    all.emplace_back(vector.begin(), vector.end());
  }
  return all;
}

// Adds the outputs of the given rows in the given columns, from the `sums` over all rows of op(A)
// and each of the columns.
void ProductReference::add_lines(const Indices& rows, const Indices& columns,
                                 const std::vector<MatrixSums::Further>& sums,
                                 ExpectedOutput& expected) const {
  const size_t first = expected.indices.size();
  const auto height = static_cast<int64_t>(rows.size());
  expected.resize(first + rows.size() * columns.size());
  expected.initial_values.resize(expected.indices.size());
  const auto points = static_cast<int64_t>(expected.indices.size() - first);
  parallel_for(points, kMinThreadPoints, [&](int64_t begin, int64_t end, int) {
    for (int64_t number = begin; number < end; ++number) {
      const auto line = static_cast<size_t>(number / height);
      const int64_t i = rows[size_t(number % height)], j = columns[line];
      const DotSums of_point = {sums[line].sums[size_t(i)], sums[line].squares[size_t(i)]};
      set_point(expected_element(of_point, 0, i, j), i, j, first + size_t(number), expected,
                expected.initial_values);
    }
  });
}

// The sums over all products of A (B v), where each product has its own part of v, and the means of
// the rows' squares over all columns of the result. The lines of each product are added.
MatrixSums ProductReference::project_products(const std::vector<double>& weights,
                                              const ColumnLines& lines,
                                              ExpectedOutput& expected) const {
  MatrixSums total;
  total.sums.resize(size_t(m_)), total.squares.resize(size_t(m_));
  auto line = lines.columns.begin();
  for (size_t product = 0; product + 1 < first_columns_.size(); ++product) {
    const int64_t first = first_columns_[product], end = first_columns_[product + 1];
    if (first == end) continue;
    const auto next_line = std::lower_bound(line, lines.columns.end(), end);
    const Indices columns(line, next_line);
    line = next_line;
    const std::vector<double> part(weights.begin() + first, weights.begin() + end);
    const Operand a = this->a(product), b = this->b(product);
    const MatrixSums added = multiply_by_vector_with_squares(
        a.stored, a.transposed, multiply_by_vector(b.stored, b.transposed, part),
        columns_of_b(product, columns));
    add_lines(lines.rows, columns, added.further, expected);
    const double share = double(end - first) / double(n_);
    for (size_t i = 0; i < total.sums.size(); ++i) {
      total.sums[i] += added.sums[i];
      total.squares[i] += share * added.squares[i];
    }
  }
  return total;
}

// The error of a projected row is a random sum of the errors of n single outputs, whose typical
// size follows from the mean square of B. The term 1e-13 covers the summation in double precision.
// Products of random operands cancel for the most part. Products of constant operands add up, and
// all outputs are rounded alike, so that the bound is doubled.
void ProductReference::add_projection(const ColumnLines& lines, ExpectedOutput& expected) const {
  std::vector<float> run(static_cast<size_t>(n_));
  fill_weights(seed_, 0, n_, run.data());
  const std::vector<double> weights(run.begin(), run.end());
  const Operand a = this->a(0), b = this->b(0), c = this->c();
  MatrixSums total = project_products(weights, lines, expected);
  if (beta_ != 0) {
    const std::vector<double> added = multiply_by_vector(c.stored, c.transposed, weights);
    for (size_t i = 0; i < total.sums.size(); ++i) total.sums[i] += beta_ * added[i];
    if (expected.growth) expected.growth->initial_projections = added;
  }
  const double sum_of_weights = std::accumulate(weights.begin(), weights.end(), 0.0);
  const std::vector<double> bias = this->bias();
  for (size_t i = 0; i < bias.size(); ++i) total.sums[i] += bias[i] * sum_of_weights;
  expected.projections = std::move(total.sums);

  const double b_square = b.stored.mean_square();
  const double c_square = beta_ * beta_ * c.stored.mean_square();
  const double bias_square = bias.empty() ? 0 : c.stored.mean_square();
  const double relative = relative_bound() + 1e-13 * (1 + std::sqrt(max_terms()));
  const double added_up = a.stored.inputs.is_constant() ? 4 * max_terms() : 1;
  expected.projection_bounds.resize(expected.projections.size());
  for (size_t i = 0; i < total.squares.size(); ++i)
    expected.projection_bounds[i] =
        projection_bound_over_typical(double(n_), largest_column()) *
            std::sqrt(added_up * total.squares[i] * b_square + c_square + bias_square) * relative +
        1e-300;
  expected.projection_rows = static_cast<uint64_t>(m_);
  expected.projection_seed = seed_;
}

}  // namespace deepbench
