// The float64 reference of gemm: small problems in full; larger ones on a grid of sampled rows and
// columns, and the whole by projection, C v against A (B v) + beta C v.
//
// Bound of one output, with S = sqrt(sum over l of (a b)^2), the typical size of a partial sum of
// k random products: output_roundoff |c| + (4 sqrt(k) sum_roundoff + 4 input_roundoff) S. Summing
// in any order errs by about 0.4 sqrt(k) sum_roundoff S, so 4 sqrt(k) leaves a factor of ten.
// Integers are exact.
#include "deepbench/ops/gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "deepbench/core/inputs.hpp"
#include "deepbench/core/parallel.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // outputs x k up to which everything is checked
constexpr int64_t kMostFullOutputs = 1 << 20;
constexpr double kGridWork = 1 << 24;  // grid points x k
constexpr int64_t kWidestGrid = 24;
constexpr uint64_t kWeightSeed = 0x5eed;

class GemmReference {
 public:
  GemmReference(const Gemm& gemm, const Conditions& conditions)
      : gemm_(gemm),
        beta_(conditions.beta),
        inputs_(conditions.seed, conditions.inputs),
        type_a_(gemm.precision.a),
        type_b_(gemm.b_type),
        type_c_(gemm.precision.c) {
    // Integers whose sums pass through float on their way out.
    if (gemm.precision.precision == Precision::kInt8 && conditions.accumulator == "float")
      gemm_.precision.output_roundoff = kRoundoffFloat;
    for (const auto& [operand, type] : conditions.fill) {
      deepbench_type& which = operand == "a" ? type_a_ : operand == "b" ? type_b_ : type_c_;
      which = type == "s7" ? DEEPBENCH_S7 : type == "u8" ? DEEPBENCH_U8 : which;
    }
  }

  Expectation expect() {
    Expectation expected;
    expected.outputs = static_cast<uint64_t>(gemm_.m * gemm_.n);
    const double all = double(gemm_.m) * double(gemm_.n);
    if (all * double(gemm_.k) <= kFullWork && gemm_.m * gemm_.n <= kMostFullOutputs) {
      add_grid(every(gemm_.m), every(gemm_.n), expected);
      expected.what = "all " + std::to_string(gemm_.m * gemm_.n) + " outputs";
      return expected;
    }
    add_grid(sampled(gemm_.m, 11), sampled(gemm_.n, 12), expected);
    add_projection(expected);
    expected.what = std::to_string(expected.indices.size()) + " of " +
                    std::to_string(gemm_.m * gemm_.n) + " outputs and " + std::to_string(gemm_.m) +
                    " projections of all";
    return expected;
  }

 private:
  static std::vector<int64_t> every(int64_t size) {
    std::vector<int64_t> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // Both ends, the borders of tiles of 16 to 256, and random places: sorted, without repeats.
  std::vector<int64_t> sampled(int64_t size, uint32_t stream) const {
    const double budget = std::sqrt(kGridWork / double(gemm_.k));
    const auto width = static_cast<int64_t>(std::clamp(budget, 4.0, double(kWidestGrid)));
    if (size <= width) return every(size);
    std::vector<int64_t> chosen = {0, size - 1};
    for (int64_t tile = 16; tile <= 256 && int64_t(chosen.size()) + 1 < width / 2; tile *= 2)
      if (tile < size) chosen.insert(chosen.end(), {tile - 1, tile});
    for (uint64_t i = 0; int64_t(chosen.size()) < width; ++i)
      chosen.push_back(
          static_cast<int64_t>(deepbench_bits(kWeightSeed, stream, i) % uint64_t(size)));
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

  std::vector<float> row_of_a(int64_t i) const {
    std::vector<float> row(static_cast<size_t>(gemm_.k));
    const auto stride = static_cast<uint64_t>(gemm_.trans_a ? 1 : gemm_.m);
    inputs_.run(type_a_, Gemm::kStreamA, gemm_.index_a(i, 0), stride, gemm_.k, row.data());
    return row;
  }

  std::vector<float> column_of_b(int64_t j) const {
    std::vector<float> column(static_cast<size_t>(gemm_.k));
    const auto stride = static_cast<uint64_t>(gemm_.trans_b ? gemm_.n : 1);
    inputs_.run(type_b_, Gemm::kStreamB, gemm_.index_b(0, j), stride, gemm_.k, column.data());
    return column;
  }

  double roundoff_of_sums() const {
    return 4 * std::sqrt(double(gemm_.k)) * gemm_.precision.sum_roundoff +
           4 * gemm_.precision.input_roundoff;
  }

  // Every combination of the given rows and columns.
  void add_grid(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                Expectation& expected) const {
    const size_t points = rows.size() * columns.size();
    expected.indices.resize(points), expected.values.resize(points), expected.bounds.resize(points);
    std::vector<std::vector<float>> a(rows.size());
    for (size_t r = 0; r < rows.size(); ++r) a[r] = row_of_a(rows[r]);
    parallel_for(int64_t(columns.size()), 1 + (int64_t(1) << 16) / gemm_.k,
                 [&](int64_t begin, int64_t end, int) {
                   for (int64_t c = begin; c < end; ++c) {
                     const std::vector<float> b = column_of_b(columns[size_t(c)]);
                     for (size_t r = 0; r < rows.size(); ++r)
                       set_point(a[r], b, rows[r], columns[size_t(c)], size_t(c) * rows.size() + r,
                                 expected);
                   }
                 });
  }

  void set_point(const std::vector<float>& a, const std::vector<float>& b, int64_t i, int64_t j,
                 size_t at, Expectation& expected) const {
    const auto index = static_cast<uint64_t>(i + j * gemm_.m);
    const double c = beta_ == 0 ? 0 : beta_ * inputs_.element(type_c_, Gemm::kStreamC, index);
    double sum = c, squares = c * c;
    for (size_t l = 0; l < a.size(); ++l) {
      const double product = double(a[l]) * double(b[l]);
      sum += product;
      squares += product * product;
    }
    const double sums_error = roundoff_of_sums() * std::sqrt(squares);
    expected.indices[at] = index;
    expected.values[at] = sum;
    expected.bounds[at] =
        gemm_.precision.output_roundoff * (std::abs(sum) + sums_error) + sums_error;
  }

  // t = B v, accumulated over the stored runs of B.
  std::vector<double> b_times_weights(const std::vector<double>& weights) const {
    const auto parts = static_cast<size_t>(parallel_width());
    std::vector<std::vector<double>> partial(parts);
    parallel_for(gemm_.columns_b(), 1 + (int64_t(1) << 16) / gemm_.rows_b(),
                 [&](int64_t begin, int64_t end, int part) {
                   std::vector<double>& t = partial[size_t(part)];
                   t.assign(size_t(gemm_.k), 0.0);
                   std::vector<float> run(size_t(gemm_.rows_b()));
                   for (int64_t column = begin; column < end; ++column) {
                     inputs_.run(type_b_, Gemm::kStreamB, uint64_t(column * gemm_.rows_b()), 1,
                                 gemm_.rows_b(), run.data());
                     if (gemm_.trans_b) {  // stored n x k: this run is row `column` of op(B)
                       t[size_t(column)] =
                           std::inner_product(run.begin(), run.end(), weights.begin(), 0.0);
                     } else {
                       const double weight = weights[size_t(column)];
                       for (size_t l = 0; l < run.size(); ++l) t[l] += weight * double(run[l]);
                     }
                   }
                 });
    return sum_of(partial, size_t(gemm_.k));
  }

  static std::vector<double> sum_of(const std::vector<std::vector<double>>& partial, size_t size) {
    std::vector<double> total(size, 0.0);
    for (const auto& part : partial)
      for (size_t i = 0; i < part.size(); ++i) total[i] += part[i];
    return total;
  }

  // sums += op(A) t and squares += op(A)^2 1, over the stored runs of A.
  void a_times(const std::vector<double>& t, std::vector<double>& sums,
               std::vector<double>& squares) const {
    const auto parts = static_cast<size_t>(parallel_width());
    std::vector<std::vector<double>> partial(parts), partial_squares(parts);
    parallel_for(
        gemm_.columns_a(), 1 + (int64_t(1) << 16) / gemm_.rows_a(),
        [&](int64_t begin, int64_t end, int part) {
          std::vector<double>&y = partial[size_t(part)], &s = partial_squares[size_t(part)];
          y.assign(size_t(gemm_.m), 0.0), s.assign(size_t(gemm_.m), 0.0);
          std::vector<float> run(size_t(gemm_.rows_a()));
          for (int64_t column = begin; column < end; ++column) {
            inputs_.run(type_a_, Gemm::kStreamA, uint64_t(column * gemm_.rows_a()), 1,
                        gemm_.rows_a(), run.data());
            if (gemm_.trans_a) {  // stored k x m: this run is row `column` of op(A)
              y[size_t(column)] = std::inner_product(run.begin(), run.end(), t.begin(), 0.0);
              s[size_t(column)] = std::inner_product(run.begin(), run.end(), run.begin(), 0.0);
            } else {
              const double factor = t[size_t(column)];
              for (size_t i = 0; i < run.size(); ++i) {
                y[i] += factor * double(run[i]);
                s[i] += double(run[i]) * double(run[i]);
              }
            }
          }
        });
    sums = sum_of(partial, size_t(gemm_.m));
    squares = sum_of(partial_squares, size_t(gemm_.m));
  }

  void add_c(const std::vector<double>& weights, std::vector<double>& sums) const {
    if (beta_ == 0) return;
    const auto parts = static_cast<size_t>(parallel_width());
    std::vector<std::vector<double>> partial(parts);
    parallel_for(
        gemm_.n, 1 + (int64_t(1) << 16) / gemm_.m, [&](int64_t begin, int64_t end, int part) {
          std::vector<double>& y = partial[size_t(part)];
          y.assign(size_t(gemm_.m), 0.0);
          std::vector<float> run(size_t(gemm_.m));
          for (int64_t j = begin; j < end; ++j) {
            inputs_.run(type_c_, Gemm::kStreamC, uint64_t(j * gemm_.m), 1, gemm_.m, run.data());
            const double weight = beta_ * weights[size_t(j)];
            for (size_t i = 0; i < run.size(); ++i) y[i] += weight * double(run[i]);
          }
        });
    const std::vector<double> total = sum_of(partial, size_t(gemm_.m));
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += total[i];
  }

  // The error of a projected row is a random sum of n errors of single outputs; their bound is
  // taken with B's mean square, and doubled. Summing in double adds the last term.
  void add_projection(Expectation& expected) const {
    std::vector<double> weights(size_t(gemm_.n));
    for (size_t j = 0; j < weights.size(); ++j) weights[j] = deepbench_weight(kWeightSeed, j);
    std::vector<double> squares;
    a_times(b_times_weights(weights), expected.sums, squares);
    add_c(weights, expected.sums);

    const double mean_square_b = inputs_.mean_square(type_b_);
    const double c_square = beta_ * beta_ * inputs_.mean_square(type_c_);
    const double relative = gemm_.precision.output_roundoff + roundoff_of_sums();
    expected.sum_bounds.resize(expected.sums.size());
    for (size_t i = 0; i < squares.size(); ++i) {
      const double typical = std::sqrt(squares[i] * mean_square_b + c_square);
      const double doubles = 1e-13 * (1 + std::sqrt(double(gemm_.k)));
      expected.sum_bounds[i] =
          2 * std::sqrt(double(gemm_.n)) * typical * (relative + doubles) + 1e-300;
    }
    expected.projection_rows = static_cast<uint64_t>(gemm_.m);
    expected.projection_seed = kWeightSeed;
  }

  Gemm gemm_;
  const double beta_;
  const Inputs inputs_;
  deepbench_type type_a_, type_b_, type_c_;
};

}  // namespace

Expectation expect_gemm(const Gemm& gemm, const Conditions& conditions) {
  return GemmReference(gemm, conditions).expect();
}

}  // namespace deepbench
