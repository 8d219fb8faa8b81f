// What the output of a convolution must be, in float64 from the same generator that filled the
// operands.
#pragma once

#include "deepbench/core/expectation.hpp"
#include "deepbench/ops/conv/conv.hpp"

namespace deepbench {

Expectation expect_conv(const Conv& conv, const Conditions& conditions);

// Host memory that this and the comparison take.
double conv_reference_bytes(const Conv& conv);

}  // namespace deepbench
