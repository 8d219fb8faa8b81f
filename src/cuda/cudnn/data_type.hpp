// cuDNN's name of a type.
#pragma once

#include "deepbench/fill.h"
#include "libraries.hpp"

namespace deepbench::cuda::dnn {

nvidia::cudnnDataType_t data_type(deepbench_type type);

}  // namespace deepbench::cuda::dnn
