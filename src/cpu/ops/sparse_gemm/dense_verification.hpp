// Verifies the result of the dense baseline.
#pragma once

#include <cstdint>

#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "ops/sparse_gemm/csr.hpp"

namespace deepbench::cpu {

// Returns the first row of C that differs from op(A) op(B), plus initial_c if it is given; -1 if
// all rows are right. It projects each row onto random weights v and compares it with A (B v) in
// double, within the bound of docs/operations/sparse_gemm.md. The verification of the sparse
// product checks A itself.
int64_t first_wrong_row(const SparseGemm& gemm, const Csr& a, const float* b, const float* c,
                        const float* initial_c);

}  // namespace deepbench::cpu
