// Sparse times dense matrix, C = op(A) op(B) + C: the typed problem, and which elements of A are
// nonzero. Header-only, for the core and for backends.
//
// op(A) is m x k and sparse, op(B) is k x n, C is m x n. A dense A would be stored as in gemm:
// column after column, m x k, or k x m with trans_a=t. The index of an element in that storage
// selects its random numbers: it is nonzero if its word of stream kStreamPattern is at least
// nonzero_threshold(), and its value is then that of stream kStreamA. A is thus a function of seed
// and index and is known without being stored. Libraries receive the stored m x k (or k x m) matrix
// in CSR format with 32-bit indices. B and C are stored column after column (order=col) or row
// after row (order=row). The index of output (i, j) is i + j*m in either order.
#pragma once

#include <cmath>
#include <cstdint>

#include "deepbench/core/precision.hpp"

namespace deepbench {

struct SparseGemm {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  double sparsity = 0;
  PrecisionInfo precision;
  bool row_major = false;  // storage of B and C

  // fill.h streams of the operands, and of the pattern of nonzeros.
  static constexpr uint32_t kStreamA = 0, kStreamB = 1, kStreamC = 2, kStreamPattern = 3;

  // Rows and columns of the stored A, in CSR format.
  int64_t rows_a() const { return trans_a ? k : m; }
  int64_t columns_a() const { return trans_a ? m : k; }

  // Words are uniform in [0, 2^32), so a fraction of 1 - sparsity is at least this threshold. Valid
  // sparsities end at 1 - 2^-32, which keeps the threshold within a word.
  uint32_t nonzero_threshold() const {
    return static_cast<uint32_t>(std::ceil(sparsity * 4294967296.0));
  }
  bool is_nonzero(uint64_t seed, uint64_t index_a) const {
    return deepbench_bits(seed, kStreamPattern, index_a) >> 32 >= nonzero_threshold();
  }

  // Whether the columns of op(B) are contiguous; otherwise its rows are.
  bool b_by_columns() const { return row_major == trans_b; }

  // The index of op(A)[i, l] in a dense A, and of op(B)[l, j] and C[i, j].
  uint64_t index_a(int64_t i, int64_t l) const {
    return static_cast<uint64_t>(trans_a ? l + i * k : i + l * m);
  }
  uint64_t index_b(int64_t l, int64_t j) const {
    return static_cast<uint64_t>(b_by_columns() ? l + j * k : j + l * n);
  }
  uint64_t index_c(int64_t i, int64_t j) const {
    return static_cast<uint64_t>(row_major ? j + i * n : i + j * m);
  }

  // The expected number of nonzeros; useful work counts only these.
  double nnz() const { return double(m) * double(k) * (1 - sparsity); }
  double flops() const { return 2.0 * nnz() * double(n); }
};

template <class Attributes>
SparseGemm sparse_gemm_problem(const Attributes& a) {
  return {a.integer("m"),
          a.integer("n"),
          a.integer("k"),
          a.text("trans_a") == "t",
          a.text("trans_b") == "t",
          a.real("sparsity"),
          precision_info(a.text("precision")),
          a.text("order") == "row"};
}

}  // namespace deepbench
