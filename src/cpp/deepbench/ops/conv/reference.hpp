// The expected output of a convolution in float64, computed from the generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/conv/conv.hpp"

namespace deepbench {

ExpectedOutput expected_conv_output(const Conv& conv, const KernelConditions& conditions);

// Bytes of host memory that the reference and the comparison take.
double conv_reference_bytes(const Conv& conv);

}  // namespace deepbench
