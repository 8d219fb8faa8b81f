// What the output of a convolution must be, in float64 from the same generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/conv/conv.hpp"

namespace deepbench {

ExpectedOutput expected_conv_output(const Conv& conv, const KernelConditions& conditions);

// Host memory that this and the comparison take.
double conv_reference_bytes(const Conv& conv);

}  // namespace deepbench
