// The requirements of an operation on the machine, whatever the library.
#pragma once

#include <string>

#include "deepbench/core/precision.hpp"

namespace deepbench::cuda {

// Throws plugin::Error (unsupported) if the built-in kernels, which fill every operand, cannot be
// compiled because NVRTC is not usable.
void require_built_in_kernels(const std::string& op);

// Throws plugin::Error (unsupported) if the device has no units for the precision.
void require_precision_support(const PrecisionInfo& precision, int device);

}  // namespace deepbench::cuda
