// cuBLAS' handles for computations of our own, apart from those of timed calls.
#pragma once

#include "libraries.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// One for each device, made on first use; it stays on the device's stream. Throws plugin::Error
// where the library cannot be used.
nvidia::cublasHandle_t cublas_handle(const Stream& stream);

}  // namespace deepbench::cuda
