// The operands of a convolution element by element in double, and sums over one of their
// dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/input_generator.hpp"

namespace deepbench {

// Generated, or stored where `stored` is set.
struct ConvOperand {
  const InputGenerator* inputs = nullptr;
  deepbench_type type = DEEPBENCH_F32;
  uint32_t stream = 0;
  bool squared = false;
  const std::vector<double>* stored = nullptr;

  void read(int64_t first, int64_t count, double* out) const;
};

// A tensor [outer][count][inner] whose middle is summed away. Its weights are `sets` rows of
// `count`; the outer index i takes row i / `repeats` % `sets`.
struct ContractionShape {
  int64_t outer, count, inner;
  int64_t repeats, sets;
};

// [outer][inner]
std::vector<double> contract(const ConvOperand& elements, const ContractionShape& shape,
                             const std::vector<double>& weights);

}  // namespace deepbench
