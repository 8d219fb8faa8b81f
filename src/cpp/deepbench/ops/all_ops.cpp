// All operations, in the order of all_ops.hpp.
#include "deepbench/ops/all_ops.hpp"

#include "deepbench/core/operation.hpp"

namespace deepbench {

const std::vector<const Operation*>& operations() {
#define DEEPBENCH_ADDRESS_OF_OPERATION(name) &name##_operation(),
  static const std::vector<const Operation*> all = {
      DEEPBENCH_OPERATIONS(DEEPBENCH_ADDRESS_OF_OPERATION)};
#undef DEEPBENCH_ADDRESS_OF_OPERATION
  return all;
}

}  // namespace deepbench
