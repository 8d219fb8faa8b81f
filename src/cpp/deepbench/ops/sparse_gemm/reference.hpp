// What the output of a sparse_gemm must be, in float64 from the same generator that filled the
// operands.
#pragma once

#include "deepbench/core/expectation.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench {

Expectation expect_sparse_gemm(const SparseGemm& gemm, const Conditions& conditions);

}  // namespace deepbench
