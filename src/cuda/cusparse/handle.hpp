// cuSPARSE's handles.
#pragma once

#include "libraries.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// One for each device, made on first use; it stays on the device's stream. Throws plugin::Error
// where the library cannot be used.
nvidia::cusparseHandle_t cusparse_handle(const Stream& stream);

}  // namespace deepbench::cuda
