// What the output of a memory problem must be: exact, word for word.
#pragma once

#include "deepbench/core/expectation.hpp"
#include "deepbench/ops/memory/memory.hpp"

namespace deepbench {

Expectation expect_memory(const Memory& memory, const Conditions& conditions);

}  // namespace deepbench
