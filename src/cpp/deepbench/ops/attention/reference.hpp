// The expected output of attention in float64, computed from the generator that filled the
// operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/attention/attention.hpp"

namespace deepbench {

ExpectedOutput expected_attention_output(const Attention& attention,
                                         const KernelConditions& conditions);

// Bytes of host memory that the reference and the comparison take.
double attention_reference_bytes(const Attention& attention);

}  // namespace deepbench
