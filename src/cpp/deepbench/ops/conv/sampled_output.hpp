// Single outputs of a convolution: which ones to look at, and what they must be.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/sums.hpp"
#include "deepbench/ops/conv/direct_conv.hpp"

namespace deepbench {

// About `count` places in verification's order, sorted, without repeats: corners of the tensor,
// then edges and random places alike. All of them where there are no more.
std::vector<int64_t> sampled_outputs(const Conv& conv, int64_t count, uint64_t seed);

// The sum of products behind the output at `index`, and that of their squares.
DotSums compute_output(const Conv& conv, const ConvOperands& operands, int64_t index);

}  // namespace deepbench
