// The expected output of pooling in float64, computed from the generator that filled the operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/pool/pool.hpp"

namespace deepbench {

ExpectedOutput expected_pool_output(const Pool& pool, const KernelConditions& conditions);

// Bytes of host memory that the reference takes.
double pool_reference_bytes(const Pool& pool);

}  // namespace deepbench
