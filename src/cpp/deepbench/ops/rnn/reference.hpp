// What the output of a recurrent layer must be, in float64 from the generator that filled the
// operands; where that takes too long, from a computation that is independent of the library.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

ReferenceSource rnn_reference_source(const Rnn& rnn);
ExpectedOutput expected_rnn_output(const Rnn& rnn, const KernelConditions& conditions);
// Host memory that this and the comparison take, the backend's own reference aside.
double rnn_reference_bytes(const Rnn& rnn);

// Forward: steps from the library's own h before them, sampled where there are many.
ExpectedOutput expected_forward_output(const Rnn& rnn, const KernelConditions& conditions);
// The gradients, in float64 from the inputs alone, up to a size; and beyond it.
bool is_affordable_in_float64(const Rnn& rnn);
ExpectedOutput expected_float64_gradients(const Rnn& rnn, const KernelConditions& conditions);
DEEPBENCH_API ExpectedOutput
expected_reference_kernel_gradients(const Rnn& rnn, const KernelConditions& conditions);

}  // namespace deepbench
