// Packed tensors of cuDNN's older calls.
#pragma once

#include <vector>

#include "cudnn/unique_descriptor.hpp"
#include "deepbench/fill.h"

namespace deepbench::cuda {

inline constexpr float kOne = 1, kZero = 0;  // alpha and beta of the older calls

// A tensor of four dimensions, of which the last one is contiguous. Throws plugin::Error
// (unsupported) for sizes beyond the library's limits.
UniqueCudnn<nvidia::cudnnTensorDescriptor_t> make_packed_tensor(deepbench_type type,
                                                                const std::vector<int64_t>& sizes);

// Throws plugin::Error: unsupported if the status means that cuDNN does not support the call.
void require_accepted_call(nvidia::cudnnStatus_t status, const char* call);

}  // namespace deepbench::cuda
