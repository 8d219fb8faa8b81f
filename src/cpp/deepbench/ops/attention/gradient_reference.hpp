// The expected gradients of attention in float64, computed from the generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/attention/attention.hpp"

namespace deepbench {

// The expected output whose number is in the conditions.
ExpectedOutput expected_attention_gradient(const Attention& attention,
                                           const KernelConditions& conditions);

// Bytes of host memory that the reference and the comparison take.
double attention_gradient_reference_bytes(const Attention& attention);

}  // namespace deepbench
