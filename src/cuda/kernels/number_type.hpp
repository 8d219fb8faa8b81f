// The type of numbers.h that stores a precision, by its name in an expression for function().
#pragma once

#include "deepbench/fill.h"

namespace deepbench::cuda {

inline const char* number_type_of(deepbench_type type) {
  return type == DEEPBENCH_F16 ? "Half" : type == DEEPBENCH_BF16 ? "Bfloat16" : "Float";
}

}  // namespace deepbench::cuda
