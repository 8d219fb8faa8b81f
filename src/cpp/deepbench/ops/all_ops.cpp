// All operations, in the order of ops.def.
#include "deepbench/ops/all_ops.hpp"

#include "deepbench/core/operation.hpp"

namespace deepbench {

const std::vector<const Operation*>& operations() {
  static const std::vector<const Operation*> all = {
#define OPERATION(name) &name##_operation(),
#include "deepbench/ops/ops.def"
#undef OPERATION
  };
  return all;
}

}  // namespace deepbench
