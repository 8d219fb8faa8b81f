// The expected output of an operation that computes blocks of consecutive outputs independently of
// one another: rows of a matrix, or any elements of an array. Small outputs are compared in full.
// Large outputs are compared at places that are spread evenly over the whole, and by projection.
#pragma once

#include <cstdint>
#include <functional>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/export.hpp"

namespace deepbench {

struct BlockwiseOutput {
  uint64_t outputs = 0;
  uint64_t block = 1;  // outputs computed at once; the last block may be shorter
  uint64_t row = 1;    // outputs that a faulty kernel may compute wrongly together
  // Writes the values and the error bounds of `count` outputs from `first` on, where `first` is the
  // beginning of a block and `count` its size. Called from several threads. The errors of outputs
  // may depend on one another, since each output of a projection has a random weight of its own.
  std::function<void(uint64_t first, uint64_t count, double* values, double* bounds)> compute;
};

DEEPBENCH_API ExpectedOutput expected_blockwise_output(const BlockwiseOutput& output,
                                                       uint64_t verification_seed);

// Corresponds to Operation::verification_bytes, with `floats` inputs of the size of a block.
DEEPBENCH_API double blockwise_verification_bytes(uint64_t outputs, uint64_t block, int floats);

}  // namespace deepbench
