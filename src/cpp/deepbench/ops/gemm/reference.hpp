// What the output of a gemm must be, in float64 from the same generator that filled the operands.
#pragma once

#include "deepbench/core/expectation.hpp"
#include "deepbench/ops/gemm/gemm.hpp"

namespace deepbench {

Expectation expect_gemm(const Gemm& gemm, const Conditions& conditions);

}  // namespace deepbench
