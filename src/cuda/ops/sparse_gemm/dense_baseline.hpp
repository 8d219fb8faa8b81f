// The baseline of a sparse product: the time of cuBLASLt for the same matrix stored densely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/gemm/gemm.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "deepbench/plugin.hpp"

namespace deepbench::cuda {

// The same product with a dense A. If the matrices are stored by rows, it is C^T = op(B)^T op(A)^T
// by columns, in which the sparse A is the operand B.
Gemm dense_product(const SparseGemm& gemm, const PrecisionInfo& precision);

struct DenseBaseline {
  struct Time {
    std::string metric;  // "dense_time", "dense_time_tf32"
    double us;
  };
  std::vector<Time> times;
  std::string note;  // the library and precisions, or the reason why there is no baseline

  void describe(plugin::Sink& sink) const;
};

// The device memory that measuring the baseline needs, or 0 if it is not measured.
uint64_t dense_bytes(const SparseGemm& gemm, const plugin::Options& options);

// Measures the baseline in the problem's precision, for float also in TF32, and in the options'
// cache regime. The last result is cached, because all candidates of a row are compared with one
// baseline.
DenseBaseline time_dense(const SparseGemm& gemm, const plugin::Options& options);

}  // namespace deepbench::cuda
