// The baseline of a sparse product: what the same matrix takes when its zeros are stored.
#pragma once

#include <cstdint>
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

struct DenseEngine {
  std::string name;  // "oneDNN's sgemm"; empty: not there
  void (*use_threads)(int threads) = nullptr;
  void (*multiply)(const DenseProduct& product) = nullptr;
};

DenseEngine onednn_dense_engine();

struct DenseTime {
  double us = 0;     // 0: not measured
  std::string note;  // with what, or why not
};

// A few calls on these operands; C is left changed. The last answer is remembered, for the
// candidates of one row are compared with one baseline.
DenseTime time_dense(const SparseGemm& gemm, const Csr& a, const float* b, float* c, float beta,
                     const plugin::Options& options);

uint64_t dense_bytes(const SparseGemm& gemm);  // that time_dense takes

}  // namespace deepbench::cpu
