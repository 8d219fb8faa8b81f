// The expected output of lookups in float64, computed from the generator that filled the operands.
#pragma once

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/embedding/embedding.hpp"

namespace deepbench {

ExpectedOutput expected_embedding_output(const Embedding& embedding,
                                         const KernelConditions& conditions);

// Bytes of host memory that the reference takes.
double embedding_reference_bytes(const Embedding& embedding);

}  // namespace deepbench
