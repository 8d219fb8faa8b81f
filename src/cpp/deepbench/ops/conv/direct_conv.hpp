// Convolutions in double, computed by their definition on all threads with vector instructions: the
// arithmetic of the reference.
#pragma once

#include <vector>

#include "deepbench/ops/conv/conv.hpp"
#include "deepbench/ops/conv/conv_operand.hpp"

namespace deepbench {

struct ConvOperands {
  ConvOperand x, w, dy;  // the operand that the phase computes is not read
};

// The output of the phase, in the order of the tensor.
std::vector<double> direct_convolution(const Conv& conv, const ConvOperands& operands);

// Bytes of host memory that direct_convolution() takes, including its result.
double direct_convolution_bytes(const Conv& conv);

}  // namespace deepbench
