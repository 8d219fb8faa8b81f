// Selects single outputs of a convolution and computes their expected values.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/sums.hpp"
#include "deepbench/ops/conv/direct_conv.hpp"

namespace deepbench {

// About `count` indices in verification's order, sorted and without duplicates: corners of the
// tensor first, then edges and random positions, and a random position for each index of the
// slowest dimension, or for `along` of these indices. An image or a channel that is wrong as a
// whole is detected there. All indices if there are at most `count`.
std::vector<int64_t> sampled_outputs(const Conv& conv, int64_t count, int64_t along, uint64_t seed);

// The sum of products of the output at `index`, and the sum of their squares.
DotSums compute_output(const Conv& conv, const ConvOperands& operands, int64_t index);

}  // namespace deepbench
