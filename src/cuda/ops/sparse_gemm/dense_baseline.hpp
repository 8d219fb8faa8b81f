// The baseline of a sparse product: what cuBLASLt takes when the same matrix is stored with its
// zeros.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// The same product with a dense A. By rows all three are: C^T = op(B)^T op(A)^T by columns, in
// which the sparse A is B.
Gemm dense_product(const SparseGemm& gemm, const PrecisionInfo& precision);

struct DenseBaseline {
  struct Time {
    std::string metric;  // "dense_time", "dense_time_tf32"
    double us;
  };
  std::vector<Time> times;
  std::string note;  // by what, or why not

  void describe(plugin::Sink& sink) const;
};

// Device memory for timing it; 0 where it is not timed.
uint64_t dense_bytes(const SparseGemm& gemm, const plugin::Options& options);

// In the problem's precision, for float also in TF32, in the options' cache regime. The last answer
// is remembered, for the candidates of one row are compared with one baseline.
DenseBaseline time_dense(const SparseGemm& gemm, const plugin::Options& options);

}  // namespace deepbench::cuda
