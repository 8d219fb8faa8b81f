// The operands of a convolution in double, and sums over one of their dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/input_generator.hpp"

namespace deepbench {

// Elements come from the generator, or from `stored` where it is set.
struct ConvOperand {
  const InputGenerator* inputs = nullptr;
  deepbench_type type = DEEPBENCH_F32;
  uint32_t stream = 0;
  bool squared = false;
  const std::vector<double>* stored = nullptr;

  void read(int64_t first, int64_t count, double* out) const;
};

// A tensor [outer][count][inner] that is summed over its middle dimension. The weights are `sets`
// rows of `count`; outer index i uses row i / `repeats` % `sets`.
struct ContractionShape {
  int64_t outer, count, inner;
  int64_t repeats, sets;
};

// Returns the sums as [outer][inner].
std::vector<double> contract(const ConvOperand& elements, const ContractionShape& shape,
                             const std::vector<double>& weights);

}  // namespace deepbench
