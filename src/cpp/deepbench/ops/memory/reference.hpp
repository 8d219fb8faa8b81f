// What the output of a memory problem must be: exact, word for word.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/memory/memory.hpp"

namespace deepbench {

ExpectedOutput expected_memory_output(const Memory& memory, const KernelConditions& conditions);

}  // namespace deepbench
