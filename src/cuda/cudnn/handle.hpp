// cuDNN's handles.
#pragma once

#include <cstddef>

#include "libraries.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// Returns the handle of the stream's device, which is created on first use and bound to the
// device's stream. Threads that call the library at the same time use separate handles, selected by
// their worker numbers (deepbench/backend/parallel_for.hpp). Throws plugin::Error if the library
// cannot be used.
nvidia::cudnnHandle_t cudnn_handle(const Stream& stream, size_t worker = 0);

}  // namespace deepbench::cuda
