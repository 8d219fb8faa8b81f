// What an operation needs of the machine before any library is asked.
#pragma once

#include <string>

#include "deepbench/ops/precision.hpp"

namespace deepbench::cuda {

// Throws plugin::Error, unsupported, where our kernels, which make every operand, cannot be
// compiled for want of NVRTC.
void require_built_in_kernels(const std::string& op);

// As above where the device has no units for the precision.
void require_precision_support(const PrecisionInfo& precision, int device);

}  // namespace deepbench::cuda
