// The reference of the collectives.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/collective/collective.hpp"

namespace deepbench {

// Knows every output exactly; reads `ranks` and `local_ranks` from `conditions.facts`.
ExpectedOutput expected_collective_output(const Collective& collective,
                                          const KernelConditions& conditions);

}  // namespace deepbench
