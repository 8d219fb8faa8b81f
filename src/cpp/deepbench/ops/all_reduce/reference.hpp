// The reference of all_reduce.
#pragma once

#include "deepbench/core/expectation.hpp"
#include "deepbench/ops/all_reduce/all_reduce.hpp"

namespace deepbench {

// Every output exactly. `conditions.facts` has ranks and local_ranks.
Expectation expect_all_reduce(const AllReduce& sum, const Conditions& conditions);

}  // namespace deepbench
