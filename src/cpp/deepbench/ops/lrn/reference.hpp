// The expected output of a local response normalization in float64.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/lrn/lrn.hpp"

namespace deepbench {

ExpectedOutput expected_lrn_output(const Lrn& lrn, const KernelConditions& conditions);

// Bytes of host memory that the reference takes.
double lrn_reference_bytes(const Lrn& lrn);

}  // namespace deepbench
