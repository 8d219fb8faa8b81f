// All operations, in the order of listings. A new operation adds one line here.
#include "deepbench/ops/all_ops.hpp"

#include "deepbench/core/operation.hpp"

namespace deepbench {

const std::vector<const Operation*>& operations() {
  static const std::vector<const Operation*> all = {
      &gemm_operation(),        &conv_operation(),       &rnn_operation(),
      &sparse_gemm_operation(), &all_reduce_operation(), &memory_operation(),
  };
  return all;
}

}  // namespace deepbench
