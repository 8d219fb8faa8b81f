// cuSPARSE's handles.
#pragma once

#include "libraries.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// Returns the handle of the stream's device, which is created on first use and bound to the
// device's stream. Throws plugin::Error if the library cannot be used.
nvidia::cusparseHandle_t cusparse_handle(const Stream& stream);

}  // namespace deepbench::cuda
