// Sparse products, selected by the number of their variant, as text.
#pragma once

#include <string>

#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench::testing {

// Bits of the variant: A is transposed, B is transposed, B and C are stored by rows.
inline SparseGemm sparse_problem(int64_t m, int64_t n, int64_t k, double sparsity, int variant = 0,
                                 const std::string& precision = "float") {
  return {m,
          n,
          k,
          (variant & 1) != 0,
          (variant & 2) != 0,
          sparsity,
          precision_info(precision),
          (variant & 4) != 0};
}

inline std::string sparse_text(const SparseGemm& g) {
  return "m=" + std::to_string(g.m) + " n=" + std::to_string(g.n) + " k=" + std::to_string(g.k) +
         " trans_a=" + (g.trans_a ? "t" : "n") + " trans_b=" + (g.trans_b ? "t" : "n") +
         " sparsity=" + std::to_string(g.sparsity) + " precision=" + std::string(g.precision.name) +
         " order=" + (g.row_major ? "row" : "col");
}

}  // namespace deepbench::testing
