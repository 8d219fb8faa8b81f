// The expected output of a gemm in float64, computed from the generator that filled the operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/gemm/gemm.hpp"

namespace deepbench {

ExpectedOutput expected_gemm_output(const Gemm& gemm, const KernelConditions& conditions);

}  // namespace deepbench
