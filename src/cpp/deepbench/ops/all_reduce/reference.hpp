// The reference of all_reduce.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"

namespace deepbench {

// Knows every output exactly; reads `ranks` and `local_ranks` from `conditions.facts`.
ExpectedOutput expected_all_reduce_output(const AllReduce& sum, const KernelConditions& conditions);

}  // namespace deepbench
