// The expected output of elementwise work in float64.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/elementwise/elementwise.hpp"

namespace deepbench {

ExpectedOutput expected_elementwise_output(const Elementwise& elementwise,
                                           const KernelConditions& conditions);
// Bytes of host memory that the reference takes.
double elementwise_reference_bytes(const Elementwise& elementwise);

}  // namespace deepbench
