// One of the products of attention through cuBLASLt, for all heads in one call.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/core/precision.hpp"
#include "ops/gemm/cublaslt_plan.hpp"

namespace deepbench::cuda {

// D = op(A) op(B) for every head, column-major without gaps: op(A) is m x k, op(B) is k x n, D is
// m x n. The matrices of the heads follow one another.
struct ProductShape {
  int64_t m, n, k, heads;
  bool trans_a, trans_b;
  bool float_output;  // whatever the precision
};

class BatchedProduct {
 public:
  // Asks the library for its first choice within the workspace limit. Throws plugin::Error
  // (unsupported) if it has none.
  BatchedProduct(const ProductShape& shape, const PrecisionInfo& precision,
                 uint64_t workspace_limit, int device);

  uint64_t workspace_bytes() const { return workspace_bytes_; }
  std::string algorithm() const { return lt::settings_of(algo_).text(); }
  void enqueue(const void* a, const void* b, void* d, void* workspace, Stream& stream) const;

 private:
  void choose_algorithm(const PrecisionInfo& precision, uint64_t workspace_limit, int device);

  lt::MatmulDesc operation_;
  lt::MatrixLayout a_, b_, d_;
  nvidia::cublasLtMatmulAlgo_t algo_{};
  uint64_t workspace_bytes_ = 0;
};

}  // namespace deepbench::cuda
