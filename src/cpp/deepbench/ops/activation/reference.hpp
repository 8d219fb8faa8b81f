// The expected output of an activation or its gradient in float64.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/activation/activation.hpp"

namespace deepbench {

ExpectedOutput expected_activation_output(const Activation& activation,
                                          const KernelConditions& conditions);

}  // namespace deepbench
