// The dense baseline of a sparse product: the product of the same matrices with stored zeros.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "deepbench/plugin.hpp"
#include "ops/sparse_gemm/csr.hpp"

namespace deepbench::cpu {

// C = op(A) op(B) + beta C in float. All three are row-major or all are column-major.
struct DenseProduct {
  bool row_major = false, trans_a = false, trans_b = false;
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  float beta = 1;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t b_step = 0;  // The distance from one column of op(B) to the next.
};

struct DenseLibrary {
  std::string name;  // For example "oneDNN's sgemm"; empty if the library is absent.
  void (*use_threads)(int threads) = nullptr;
  void (*multiply)(const DenseProduct& product) = nullptr;
  int64_t max_dimension = std::numeric_limits<int64_t>::max();  // The largest value of m, n and k.
};

DenseLibrary onednn_dense_library();

class SparseOperands;

// How the dense product is measured: in the same cache regime as the sparse product, or not at all.
struct DensePlan {
  CopyPlan copies;     // The copies of A with its zeros. B and C are those of the sparse product.
  uint64_t bytes = 0;  // The size of these copies and of the flush buffer.
  std::string reason;  // Why there is no baseline.

  bool is_enabled() const { return reason.empty(); }
};

DensePlan plan_dense(const SparseGemm& gemm, const CopyPlan& sparse,
                     const plugin::Options& options);

struct DenseTime {
  double us = 0;     // 0 if the product was not measured or was wrong.
  std::string note;  // The library and number of calls, or why there is no baseline.
};

// Measures a few calls on these operands and verifies the last one. It changes C. It caches the
// last result, because one baseline serves all candidates of a row.
DenseTime time_dense(const DensePlan& plan, SparseOperands& operands,
                     const plugin::Options& options);

}  // namespace deepbench::cpu
