// The expected output of a softmax or its gradient in float64, row by row.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/softmax/softmax.hpp"

namespace deepbench {

ExpectedOutput expected_softmax_output(const Softmax& softmax, const KernelConditions& conditions);
// Bytes of host memory that verification takes.
double softmax_verification_bytes(const Softmax& softmax);

}  // namespace deepbench
