// The expected output of a sparse_gemm in float64, computed from the generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench {

ExpectedOutput expected_sparse_gemm_output(const SparseGemm& gemm,
                                           const KernelConditions& conditions);

}  // namespace deepbench
