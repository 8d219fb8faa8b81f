// The expected output of a grouped_gemm in float64, computed from the generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/grouped_gemm/grouped_gemm.hpp"

namespace deepbench {

ExpectedOutput expected_grouped_gemm_output(const GroupedGemm& problem,
                                            const KernelConditions& conditions);

// Bytes of host memory that the reference and the comparison take.
double grouped_gemm_verification_bytes(const GroupedGemm& problem);

}  // namespace deepbench
