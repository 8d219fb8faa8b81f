// cuDNN's handles.
#pragma once

#include <cstddef>

#include "libraries.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// One for each device, made on first use; it stays on the device's stream. Threads that call the
// library at the same time have their own, by their numbers (parallel_for.hpp). Throws
// plugin::Error where the library cannot be used.
nvidia::cudnnHandle_t cudnn_handle(const Stream& stream, size_t worker = 0);

}  // namespace deepbench::cuda
