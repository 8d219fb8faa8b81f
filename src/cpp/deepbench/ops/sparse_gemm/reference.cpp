// The float64 reference of sparse_gemm, built on core/product_reference.hpp. It evaluates the dense
// definition of A element by element and builds no CSR matrix, so that it detects errors in a
// backend's conversion.
//
// Bound of one output: output_roundoff |c| + error_of_sums(nnz) sqrt(S^2 + c^2), where S^2 =
// sum over l of (a b)^2. This is gemm's bound with the nonzeros of the row instead of k, because
// zeros contribute neither values nor rounding. C is one more term of the sum.
#include "deepbench/ops/sparse_gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/product_reference.hpp"

namespace deepbench {
namespace {

class SparseGemmReference final : public ProductReference {
 public:
  SparseGemmReference(const SparseGemm& gemm, const KernelConditions& conditions)
      : ProductReference(gemm.m, {gemm.n}, gemm.k, conditions),
        gemm_(gemm),
        inputs_(conditions.seed, conditions.inputs),
        pattern_{conditions.seed, SparseGemm::kStreamPattern, gemm.nonzero_threshold()} {}

 private:
  void set_grid_rows(size_t rows) override { nnz_.resize(rows); }

  bool depends_on_grid_rows() const override { return true; }

  // The row includes its zeros; the nonzeros are counted for the bound.
  void generate_row_of_a(size_t, size_t grid_row, int64_t i, float* row) override {
    const auto stride = static_cast<uint64_t>(gemm_.trans_a ? 1 : gemm_.m);
    inputs_.fill(gemm_.precision.a, SparseGemm::kStreamA, gemm_.index_a(i, 0), stride, gemm_.k,
                 row);
    int64_t nnz = 0;
    for (int64_t l = 0; l < gemm_.k; ++l) {
      const bool nonzero = gemm_.is_nonzero(pattern_.seed, gemm_.index_a(i, l));
      row[l] = nonzero ? row[l] : 0.0f;
      nnz += nonzero;
    }
    nnz_[grid_row] = nnz;
  }

  void generate_column_of_b(size_t, int64_t j, float* column) const override {
    const auto stride = static_cast<uint64_t>(gemm_.b_by_columns() ? 1 : gemm_.n);
    inputs_.fill(gemm_.precision.b, SparseGemm::kStreamB, gemm_.index_b(0, j), stride, gemm_.k,
                 column);
  }

  double roundoff_of_sums(double nnz) const { return error_of_sums(nnz, gemm_.precision); }

  ExpectedElement expected_element(const DotSums& sums, size_t grid_row, int64_t i,
                                   int64_t j) const override {
    const double initial =
        beta() == 0 ? 0
                    : inputs_.element(gemm_.precision.c, SparseGemm::kStreamC, gemm_.index_c(i, j));
    const double c = beta() * initial;
    const double sum = sums.products + c;
    const double sums_error =
        roundoff_of_sums(double(nnz_[grid_row])) * std::sqrt(sums.squares + c * c + sum * sum);
    return {sum,
            gemm_.precision.output_roundoff * (std::abs(sum) + sums_error) + sums_error +
                gemm_.precision.absolute_roundoff(),
            initial};
  }

  // A row-major matrix equals the transpose of a column-major one.
  Operand stored_operand(deepbench_type type, uint32_t stream, int64_t rows, int64_t columns,
                         bool by_columns) const {
    if (by_columns) return {{inputs_, type, stream, rows, columns}, false};
    return {{inputs_, type, stream, columns, rows}, true};
  }
  Operand a(size_t) const override {
    return {{inputs_, gemm_.precision.a, SparseGemm::kStreamA, gemm_.rows_a(), gemm_.columns_a(),
             &pattern_},
            gemm_.trans_a};
  }
  Operand b(size_t) const override {
    return stored_operand(gemm_.precision.b, SparseGemm::kStreamB, gemm_.k, gemm_.n,
                          gemm_.b_by_columns());
  }
  Operand c() const override {
    return stored_operand(gemm_.precision.c, SparseGemm::kStreamC, gemm_.m, gemm_.n,
                          !gemm_.row_major);
  }

  // One row in 10^9 has more nonzeros than the mean plus six standard deviations.
  double max_terms() const override {
    const double mean = mean_terms();
    return std::min(double(gemm_.k), mean + 6 * std::sqrt(mean) + 6);
  }
  double relative_bound() const override {
    return gemm_.precision.output_roundoff + roundoff_of_sums(max_terms());
  }

  double mean_terms() const override { return double(gemm_.k) * (1 - gemm_.sparsity); }
  double output_roundoff() const override { return gemm_.precision.output_roundoff; }

  double largest_result() const override { return gemm_.precision.largest_result(); }

  const SparseGemm gemm_;
  const InputGenerator inputs_;
  const SparsityPattern pattern_;
  std::vector<int64_t> nnz_;  // nonzeros of each grid row
};

}  // namespace

ExpectedOutput expected_sparse_gemm_output(const SparseGemm& gemm,
                                           const KernelConditions& conditions) {
  return SparseGemmReference(gemm, conditions).expected_output();
}

}  // namespace deepbench
