// The expected output of an axpy in float64, computed from the generator that filled the operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/axpy/axpy.hpp"

namespace deepbench {

ExpectedOutput expected_axpy_output(const Axpy& axpy, const KernelConditions& conditions);

}  // namespace deepbench
