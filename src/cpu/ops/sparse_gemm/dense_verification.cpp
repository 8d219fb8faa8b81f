// Compares projections of a product with projections of its operands.
#include "ops/sparse_gemm/dense_verification.hpp"

#include <cmath>
#include <vector>

#include "ops/sparse_gemm/matrix_projection.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kWeightSeed = 0x5eed;
constexpr uint64_t kRowsOfWorker = 64;

std::vector<double> projected(const FloatMatrix& matrix) {
  std::vector<double> sums(static_cast<size_t>(matrix.rows));
  project(matrix, kWeightSeed, sums.data());
  return sums;
}

double mean_square(const FloatMatrix& matrix) {
  double sum = 0;
  for (uint64_t i = 0; i < matrix.size(); ++i) sum += double(matrix.data[i]) * matrix.data[i];
  return sum / double(matrix.size());
}

// For each row of op(A): its product with a vector, the sum of its squares and its number of
// non-zeros.
struct RowSums {
  std::vector<double> products, squares, terms;
  explicit RowSums(int64_t rows)
      : products(static_cast<size_t>(rows)), squares(products), terms(products) {}

  void add(size_t row, double value, double factor) {
    products[row] += value * factor;
    squares[row] += value * value;
    terms[row] += 1;
  }
};

RowSums multiply_rows(const SparseGemm& gemm, const Csr& a, const std::vector<double>& x) {
  RowSums sums(gemm.m);
  if (gemm.trans_a) {  // Each row of A contributes to all sums.
    for (int64_t row = 0; row < a.rows; ++row)
      for (int32_t i = a.offsets[row]; i < a.offsets[row + 1]; ++i)
        sums.add(size_t(a.indices[i]), double(a.values[i]), x[size_t(row)]);
    return sums;
  }
  host_workers().parallel_for(uint64_t(a.rows), kRowsOfWorker,
                              [&](uint64_t begin, uint64_t end, size_t) {
                                for (uint64_t row = begin; row < end; ++row)
                                  for (int32_t i = a.offsets[row]; i < a.offsets[row + 1]; ++i)
                                    sums.add(row, double(a.values[i]), x[size_t(a.indices[i])]);
                              });
  return sums;
}

}  // namespace

int64_t first_wrong_row(const SparseGemm& gemm, const Csr& a, const float* b, const float* c,
                        const float* initial_c) {
  const FloatMatrix matrix_b = {b, gemm.k, gemm.n, gemm.b_by_columns()};
  const FloatMatrix result = {c, gemm.m, gemm.n, !gemm.row_major};
  const FloatMatrix added = {initial_c, gemm.m, gemm.n, !gemm.row_major};
  RowSums expected = multiply_rows(gemm, a, projected(matrix_b));
  if (initial_c) {
    const std::vector<double> sums = projected(added);
    for (size_t i = 0; i < sums.size(); ++i) expected.products[i] += sums[i];
  }
  const double b_square = mean_square(matrix_b), c_square = initial_c ? mean_square(added) : 0;
  const std::vector<double> sums = projected(result);
  for (size_t i = 0; i < sums.size(); ++i) {
    const double root = std::sqrt(expected.terms[i]);
    const double relative = kRoundoffFloat * (1 + 4 * root) + 1e-13 * (1 + root);
    const double typical = std::sqrt(expected.squares[i] * b_square + c_square);
    const double bound = 2 * std::sqrt(double(gemm.n)) * typical * relative + 1e-300;
    if (!(std::abs(sums[i] - expected.products[i]) <= bound)) return int64_t(i);
  }
  return -1;
}

}  // namespace deepbench::cpu
