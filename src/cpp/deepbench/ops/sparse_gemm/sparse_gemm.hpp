// Sparse times dense matrix, C = op(A) op(B) + C: the typed problem, and which elements of A are
// not zero. Header-only, for the core and for backends.
//
// op(A) is m x k and sparse, op(B) is k x n, C is m x n. As in gemm a dense A would be stored
// column after column, m x k, or k x m with trans_a=t; an element's index there is the one of its
// random numbers. Element `index` is not zero where its word of stream kStreamPattern is at least
// nonzero_threshold(); its value is then that of stream kStreamA. So the matrix is a function of
// seed and index, which nobody needs to store to know it. What a library is given is the same
// matrix in CSR with 32-bit indices: of the stored m x k, or k x m. B and C are stored column after
// column (order=col), or row after row (order=row). Output index: i + j*m, whatever the order.
#pragma once

#include <cmath>
#include <cstdint>

#include "deepbench/ops/precision.hpp"

namespace deepbench {

struct SparseGemm {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  double sparsity = 0;
  PrecisionInfo precision;
  bool row_major = false;  // B and C

  // fill.h streams.
  static constexpr uint32_t kStreamA = 0, kStreamB = 1, kStreamC = 2, kStreamPattern = 3;

  // A as stored: CSR rows and columns.
  int64_t rows_a() const { return trans_a ? k : m; }
  int64_t columns_a() const { return trans_a ? m : k; }

  // Words are uniform in [0, 2^32): those from here on are a share of 1 - sparsity. Valid
  // sparsities end at 1 - 2^-32, which keeps this within a word.
  uint32_t nonzero_threshold() const {
    return static_cast<uint32_t>(std::ceil(sparsity * 4294967296.0));
  }
  bool is_nonzero(uint64_t seed, uint64_t index_a) const {
    return deepbench_bits(seed, kStreamPattern, index_a) >> 32 >= nonzero_threshold();
  }

  // Whether op(B)'s columns lie each in one piece, rather than its rows.
  bool b_by_columns() const { return row_major == trans_b; }

  // Where op(A)[i, l] would be in a dense A, where op(B)[l, j] and C[i, j] are.
  uint64_t index_a(int64_t i, int64_t l) const {
    return static_cast<uint64_t>(trans_a ? l + i * k : i + l * m);
  }
  uint64_t index_b(int64_t l, int64_t j) const {
    return static_cast<uint64_t>(b_by_columns() ? l + j * k : j + l * n);
  }
  uint64_t index_c(int64_t i, int64_t j) const {
    return static_cast<uint64_t>(row_major ? j + i * n : i + j * m);
  }

  // Expected non-zeros. Counting them, not the zeros, is what the useful work needs.
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
