// The baseline of a sparse product: what the same matrix takes when its zeros are stored.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "deepbench/plugin.hpp"
#include "ops/sparse_gemm/csr.hpp"

namespace deepbench::cpu {

// C = op(A) op(B) + beta C in float; all three by rows, or all by columns.
struct DenseProduct {
  bool row_major = false, trans_a = false, trans_b = false;
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  float beta = 1;
  int64_t lda = 0, ldb = 0, ldc = 0;
  int64_t b_step = 0;  // from one column of op(B) to the next
};

struct DenseLibrary {
  std::string name;  // "oneDNN's sgemm"; empty: not there
  void (*use_threads)(int threads) = nullptr;
  void (*multiply)(const DenseProduct& product) = nullptr;
  int64_t max_dimension = std::numeric_limits<int64_t>::max();  // of a dimension
};

DenseLibrary onednn_dense_library();

class SparseOperands;

// In which regime: that of the sparse product, or none.
struct DensePlan {
  CopyPlan copies;     // of A with its zeros; B and C have the sparse product's
  uint64_t bytes = 0;  // of those, and what is flushed with
  std::string reason;  // why there will be none

  bool is_enabled() const { return reason.empty(); }
};

DensePlan plan_dense(const SparseGemm& gemm, const CopyPlan& sparse,
                     const plugin::Options& options);

struct DenseTime {
  double us = 0;     // 0: not measured, or wrong
  std::string note;  // with what, or why not
};

// A few calls on these operands, of which the last is verified; C is left changed. The last answer
// is remembered, for the candidates of one row are compared with one baseline.
DenseTime time_dense(const DensePlan& plan, SparseOperands& operands,
                     const plugin::Options& options);

}  // namespace deepbench::cpu
