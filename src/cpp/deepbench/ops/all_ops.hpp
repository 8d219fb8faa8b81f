// Declares the function of each operation, such as gemm_operation().
#pragma once

namespace deepbench {

class Operation;

#define OPERATION(name) const Operation& name##_operation();
#include "deepbench/ops/ops.def"
#undef OPERATION

}  // namespace deepbench
