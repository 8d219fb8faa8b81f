// One function per operation, each defined in ops/<op>/spec.cpp.
#pragma once

namespace deepbench {

class Operation;

const Operation& gemm_operation();
const Operation& conv_operation();
const Operation& rnn_operation();
const Operation& sparse_gemm_operation();
const Operation& all_reduce_operation();
const Operation& memory_operation();

}  // namespace deepbench
