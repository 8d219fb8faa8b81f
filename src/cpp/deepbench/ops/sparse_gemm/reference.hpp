// What the output of a sparse_gemm must be, in float64 from the same generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench {

ExpectedOutput expected_sparse_gemm_output(const SparseGemm& gemm,
                                           const KernelConditions& conditions);

}  // namespace deepbench
