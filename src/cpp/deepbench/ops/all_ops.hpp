// The operations, in the order that lists show them; each is defined in ops/<op>/spec.cpp. A new
// operation adds its line.
#pragma once

namespace deepbench {

class Operation;

#define DEEPBENCH_OPERATIONS(OPERATION) \
  OPERATION(gemm)                       \
  OPERATION(conv)                       \
  OPERATION(rnn)                        \
  OPERATION(sparse_gemm)                \
  OPERATION(all_reduce)                 \
  OPERATION(memory)

#define DEEPBENCH_DECLARE_OPERATION(name) const Operation& name##_operation();
DEEPBENCH_OPERATIONS(DEEPBENCH_DECLARE_OPERATION)
#undef DEEPBENCH_DECLARE_OPERATION

}  // namespace deepbench
