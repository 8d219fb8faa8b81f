// Sparse (CSR) times dense: the typed problem. Header-only.
//
// op(A) is m x k with a share `sparsity` of zeros, B is k x n and C is m x n, both dense.
#pragma once

#include <cstdint>

#include "deepbench/ops/precision.hpp"

namespace deepbench {

struct SparseGemm {
  int64_t m = 0, n = 0, k = 0;
  bool trans_a = false, trans_b = false;
  double sparsity = 0;
  PrecisionInfo precision;

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
          precision_info(a.text("precision"))};
}

}  // namespace deepbench
