// Whether the dense baseline computed what it should.
#pragma once

#include <cstdint>

#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "ops/sparse_gemm/csr.hpp"

namespace deepbench::cpu {

// The first row of C that is not op(A) op(B), plus initial_c where there is one; -1 if there is
// none. Each row is summed on random weights and compared with A (B v) in double, within the bound
// of docs/explanation/verification.md: that A itself is right, the sparse result tells.
int64_t first_wrong_row(const SparseGemm& gemm, const Csr& a, const float* b, const float* c,
                        const float* initial_c);

}  // namespace deepbench::cpu
