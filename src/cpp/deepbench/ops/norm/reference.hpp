// The expected outputs of a normalization in float64, computed from the generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/norm/norm.hpp"

namespace deepbench {

// The expected output whose number is in the conditions. A kernel that states statistics=variance
// stores the variance instead of the inverse deviation.
ExpectedOutput expected_norm_output(const Norm& norm, const KernelConditions& conditions);

// Bytes of host memory that expected_norm_output() takes.
double norm_reference_bytes(const Norm& norm);

}  // namespace deepbench
