// What the output of a recurrent layer must be, in float64 from the generator that filled the
// operands; where that takes too long, from a computation that is independent of the library.
#pragma once

#include "deepbench/core/expectation.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

Evidence rnn_evidence(const Rnn& rnn);
Expectation expect_rnn(const Rnn& rnn, const Conditions& conditions);
// Host memory that this and the comparison take, the backend's own reference aside.
double rnn_reference_bytes(const Rnn& rnn);

// Forward: steps from the library's own h before them, sampled where there are many.
Expectation expect_forward(const Rnn& rnn, const Conditions& conditions);
// The gradients, in float64 from the inputs alone, up to a size; and beyond it.
bool fits_float64(const Rnn& rnn);
Expectation expect_gradients(const Rnn& rnn, const Conditions& conditions);
DEEPBENCH_API Expectation expect_composed_gradients(const Rnn& rnn, const Conditions& conditions);

}  // namespace deepbench
