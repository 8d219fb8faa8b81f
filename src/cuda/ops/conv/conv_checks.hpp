// What a convolution needs, whatever the library.
#pragma once

#include "deepbench/ops/conv/conv.hpp"

namespace deepbench::cuda {

// Throws unsupported where operands cannot be made for want of NVRTC, where the device has no units
// for the precision, or no library here does these operands.
void require_conv_on_device(const Conv& conv, int device);

}  // namespace deepbench::cuda
