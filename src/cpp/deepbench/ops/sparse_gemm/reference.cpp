// The float64 reference of sparse_gemm, from the dense definition of A: element for element,
// without a CSR of its own, so that an error in a backend's conversion is seen. Small problems in
// full; larger ones on a grid of sampled rows and columns, and the whole by projection, C v against
// A (B v) + beta C v.
//
// Bound of one output, as gemm's with the row's own non-zeros in place of k: output_roundoff |c| +
// 4 sqrt(nnz) sum_roundoff sqrt(S^2 + c^2), where S^2 = sum over l of (a b)^2. Zeros add nothing to
// a sum and no rounding. C itself is one more term.
#include "deepbench/ops/sparse_gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "deepbench/core/generated_matrix.hpp"
#include "deepbench/core/inputs.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/sums.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // outputs x k up to which everything is checked
constexpr int64_t kMostFullOutputs = 1 << 20;
constexpr double kGridWork = 1 << 24;  // grid points x k
constexpr int64_t kWidestGrid = 24;
constexpr int64_t kWorkOfThread = 1 << 17;  // products that are worth starting a thread
constexpr uint64_t kWeightSeed = 0x5eed;

using Places = std::vector<int64_t>;

Places every(int64_t size) {
  Places all(static_cast<size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// Both ends, the borders of tiles of 16 to 256, and random places: sorted, without repeats.
Places sampled(int64_t size, int64_t width, uint32_t stream) {
  if (size <= width) return every(size);
  Places chosen = {0, size - 1};
  for (int64_t tile = 16; tile <= 256 && int64_t(chosen.size()) + 1 < width / 2; tile *= 2)
    if (tile < size) chosen.insert(chosen.end(), {tile - 1, tile});
  for (uint64_t i = 0; int64_t(chosen.size()) < width; ++i)
    chosen.push_back(static_cast<int64_t>(deepbench_bits(kWeightSeed, stream, i) % uint64_t(size)));
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

class SparseGemmReference {
 public:
  SparseGemmReference(const SparseGemm& gemm, const Conditions& conditions)
      : gemm_(gemm),
        beta_(conditions.beta),
        inputs_(conditions.seed, conditions.inputs),
        pattern_{conditions.seed, SparseGemm::kStreamPattern, gemm.least_word()} {}

  Expectation expect() {
    Expectation expected;
    const int64_t outputs = gemm_.m * gemm_.n;
    expected.outputs = static_cast<uint64_t>(outputs);
    if (double(outputs) * double(gemm_.k) <= kFullWork && outputs <= kMostFullOutputs) {
      add_grid(every(gemm_.m), every(gemm_.n), expected);
      expected.what = "all " + std::to_string(outputs) + " outputs";
      return expected;
    }
    const double budget = std::sqrt(kGridWork / double(gemm_.k));
    const auto width = static_cast<int64_t>(std::clamp(budget, 4.0, double(kWidestGrid)));
    add_grid(sampled(gemm_.m, width, 11), sampled(gemm_.n, width, 12), expected);
    add_projection(expected);
    expected.what = std::to_string(expected.indices.size()) + " of " + std::to_string(outputs) +
                    " outputs and " + std::to_string(gemm_.m) + " projections of all";
    return expected;
  }

 private:
  // Row i of op(A), zeros included; returns the number of others.
  int64_t row_of_a(int64_t i, float* row) const {
    const auto stride = static_cast<uint64_t>(gemm_.trans_a ? 1 : gemm_.m);
    inputs_.run(gemm_.precision.a, SparseGemm::kStreamA, gemm_.index_a(i, 0), stride, gemm_.k, row);
    int64_t nnz = 0;
    for (int64_t l = 0; l < gemm_.k; ++l) {
      const bool nonzero = gemm_.is_nonzero(pattern_.seed, gemm_.index_a(i, l));
      row[l] = nonzero ? row[l] : 0.0f;
      nnz += nonzero;
    }
    return nnz;
  }

  void column_of_b(int64_t j, float* column) const {
    const auto stride = static_cast<uint64_t>(gemm_.b_by_columns() ? 1 : gemm_.n);
    inputs_.run(gemm_.precision.b, SparseGemm::kStreamB, gemm_.index_b(0, j), stride, gemm_.k,
                column);
  }

  double roundoff_of_sums(double nnz) const {
    return 4 * std::sqrt(nnz) * gemm_.precision.sum_roundoff;
  }

  // Every combination of the given rows and columns.
  void add_grid(const Places& rows, const Places& columns, Expectation& expected) const {
    const int64_t smallest_part = 1 + kWorkOfThread / gemm_.k;
    const auto height = static_cast<int64_t>(rows.size()), all = height + int64_t(columns.size());
    const std::unique_ptr<float[]> vectors(new float[size_t(all * gemm_.k)]);  // rows, then columns
    std::vector<int64_t> nnz(rows.size());
    parallel_for(all, smallest_part, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        float* const vector = vectors.get() + i * gemm_.k;
        if (i < height)
          nnz[size_t(i)] = row_of_a(rows[size_t(i)], vector);
        else
          column_of_b(columns[size_t(i - height)], vector);
      }
    });

    const size_t points = rows.size() * columns.size();
    expected.indices.resize(points), expected.values.resize(points), expected.bounds.resize(points);
    parallel_for(int64_t(points), smallest_part, [&](int64_t begin, int64_t end, int) {
      for (int64_t point = begin; point < end; ++point) {
        const int64_t r = point % height, c = point / height;
        const DotSums sums =
            dot_sums(vectors.get() + r * gemm_.k, vectors.get() + (height + c) * gemm_.k, gemm_.k);
        set_point(sums, double(nnz[size_t(r)]), rows[size_t(r)], columns[size_t(c)], size_t(point),
                  expected);
      }
    });
  }

  void set_point(const DotSums& sums, double nnz, int64_t i, int64_t j, size_t at,
                 Expectation& expected) const {
    const double c = beta_ == 0 ? 0
                                : beta_ * inputs_.element(gemm_.precision.c, SparseGemm::kStreamC,
                                                          gemm_.index_c(i, j));
    const double sum = sums.products + c;
    const double sums_error = roundoff_of_sums(nnz) * std::sqrt(sums.squares + c * c + sum * sum);
    expected.indices[at] = static_cast<uint64_t>(i + j * gemm_.m);
    expected.values[at] = sum;
    expected.bounds[at] =
        gemm_.precision.output_roundoff * (std::abs(sum) + sums_error) + sums_error;
  }

  // Stored by columns, or, by rows, the transposed matrix by columns.
  MatrixSums times(const GeneratedMatrix& matrix, bool by_columns,
                   const std::vector<double>& x) const {
    return times_vector(matrix, !by_columns, x);
  }

  // The error of a projected row is a random sum of n errors of single outputs; their bound is
  // taken with B's mean square, and doubled. Summing in double adds the last term.
  void add_projection(Expectation& expected) const {
    std::vector<float> run(size_t(gemm_.n));
    weight_run(kWeightSeed, 0, gemm_.n, run.data());
    const std::vector<double> weights(run.begin(), run.end());
    const PrecisionInfo& precision = gemm_.precision;
    const int64_t m = gemm_.m, n = gemm_.n, k = gemm_.k;
    const bool b_by_columns = gemm_.b_by_columns(), c_by_columns = !gemm_.row_major;
    const GeneratedMatrix b = {inputs_, precision.b, SparseGemm::kStreamB, b_by_columns ? k : n,
                               b_by_columns ? n : k};
    const GeneratedMatrix a = {inputs_,        precision.a,       SparseGemm::kStreamA,
                               gemm_.rows_a(), gemm_.columns_a(), &pattern_};
    const GeneratedMatrix c = {inputs_, precision.c, SparseGemm::kStreamC, c_by_columns ? m : n,
                               c_by_columns ? n : m};
    MatrixSums total = times(a, !gemm_.trans_a, times(b, b_by_columns, weights).sums);
    if (beta_ != 0) {
      const MatrixSums added = times(c, c_by_columns, weights);
      for (size_t i = 0; i < total.sums.size(); ++i) total.sums[i] += beta_ * added.sums[i];
    }
    expected.sums = std::move(total.sums);
    set_projection_bounds(total.squares, expected);
  }

  // Rows have more non-zeros than the mean and six deviations once in 10^9.
  void set_projection_bounds(const std::vector<double>& squares, Expectation& expected) const {
    const double mean = double(gemm_.k) * (1 - gemm_.sparsity);
    const double nnz = std::min(double(gemm_.k), mean + 6 * std::sqrt(mean) + 6);
    const double relative =
        gemm_.precision.output_roundoff + roundoff_of_sums(nnz) + 1e-13 * (1 + std::sqrt(nnz));
    const double square_b = inputs_.mean_square(gemm_.precision.b);
    const double square_c = beta_ * beta_ * inputs_.mean_square(gemm_.precision.c);
    expected.sum_bounds.resize(squares.size());
    for (size_t i = 0; i < squares.size(); ++i)
      expected.sum_bounds[i] =
          2 * std::sqrt(double(gemm_.n)) * std::sqrt(squares[i] * square_b + square_c) * relative +
          1e-300;
    expected.projection_rows = static_cast<uint64_t>(gemm_.m);
    expected.projection_seed = kWeightSeed;
  }

  const SparseGemm gemm_;
  const double beta_;
  const Inputs inputs_;
  const Pattern pattern_;
};

}  // namespace

Expectation expect_sparse_gemm(const SparseGemm& gemm, const Conditions& conditions) {
  return SparseGemmReference(gemm, conditions).expect();
}

}  // namespace deepbench
