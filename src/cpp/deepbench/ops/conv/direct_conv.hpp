// Convolutions in double by their definition: the arithmetic of the reference, on all threads and
// vectors.
#pragma once

#include <vector>

#include "deepbench/ops/conv/conv.hpp"
#include "deepbench/ops/conv/conv_operand.hpp"

namespace deepbench {

struct ConvOperands {
  ConvOperand x, w, dy;  // the phase's output is not read
};

// The output of the phase, in the tensor's own order.
std::vector<double> direct_convolution(const Conv& conv, const ConvOperands& operands);

// What that takes, its result included.
double direct_convolution_bytes(const Conv& conv);

}  // namespace deepbench
