// The operands of a convolution element by element in double, and sums over one of their
// dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/inputs.hpp"

namespace deepbench {

// Generated, or stored where `stored` is set.
struct ConvElements {
  const Inputs* inputs = nullptr;
  deepbench_type type = DEEPBENCH_F32;
  uint32_t stream = 0;
  bool squared = false;
  const std::vector<double>* stored = nullptr;

  void read(int64_t first, int64_t count, double* out) const;
};

// A tensor [outer][count][inner] whose middle is summed away. Its weights are `sets` rows of
// `count`; the outer index i takes row i / `repeats` % `sets`.
struct Collapse {
  int64_t outer, count, inner;
  int64_t repeats, sets;
};

// [outer][inner]
std::vector<double> collapsed(const ConvElements& elements, const Collapse& shape,
                              const std::vector<double>& weights);

}  // namespace deepbench
