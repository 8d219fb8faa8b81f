// The reference of all_reduce.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"

namespace deepbench {

// Every output exactly. `conditions.facts` has ranks and local_ranks.
ExpectedOutput expected_all_reduce_output(const AllReduce& sum, const KernelConditions& conditions);

}  // namespace deepbench
