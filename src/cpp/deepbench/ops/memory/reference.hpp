// The expected output of a memory problem, exact for every word.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/memory/memory.hpp"

namespace deepbench {

ExpectedOutput expected_memory_output(const Memory& memory, const KernelConditions& conditions);

}  // namespace deepbench
