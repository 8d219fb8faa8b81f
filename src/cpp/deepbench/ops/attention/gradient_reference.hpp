// The expected gradients of attention in float64, computed from the generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/attention/attention.hpp"

namespace deepbench {

// Of the output whose number the conditions tell.
ExpectedOutput expected_attention_gradient(const Attention& attention,
                                           const KernelConditions& conditions);

// Bytes of host memory that the reference and the comparison take.
double attention_gradient_reference_bytes(const Attention& attention);

}  // namespace deepbench
