// The expected output of a recurrent layer, in float64 from the generator that filled the operands.
// Where that takes too long, it comes from a computation by the backend that is independent of the
// tested library.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

ReferenceSource rnn_reference_source(const Rnn& rnn);
ExpectedOutput expected_rnn_output(const Rnn& rnn, const KernelConditions& conditions);
// Bytes of host memory that the reference and the comparison take, without the backend's reference
// kernel.
double rnn_reference_bytes(const Rnn& rnn);

// The forward pass: each step is computed from the tested library's h(t-1); long sequences are
// sampled.
ExpectedOutput expected_forward_output(const Rnn& rnn, const KernelConditions& conditions);
// The gradients: in float64 from the inputs alone where is_affordable_in_float64(), otherwise from
// the reference kernel.
bool is_affordable_in_float64(const Rnn& rnn);
ExpectedOutput expected_float64_gradients(const Rnn& rnn, const KernelConditions& conditions);
DEEPBENCH_API ExpectedOutput
expected_reference_kernel_gradients(const Rnn& rnn, const KernelConditions& conditions);

}  // namespace deepbench
