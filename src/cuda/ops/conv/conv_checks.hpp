// The requirements that all convolution libraries share.
#pragma once

#include "deepbench/ops/conv/conv.hpp"

namespace deepbench::cuda {

// Throws unsupported if NVRTC, which operands need, is missing, if the device has no units for the
// precision, or if no library here supports the operand types.
void require_conv_on_device(const Conv& conv, int device);

}  // namespace deepbench::cuda
