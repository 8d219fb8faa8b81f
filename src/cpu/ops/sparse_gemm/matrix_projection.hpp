// Sums of matrices of floats over their columns, with fill.h's weights.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// Stored column after column, or row after row.
struct FloatMatrix {
  const float* data = nullptr;
  int64_t rows = 0, columns = 0;
  bool by_columns = true;

  uint64_t size() const { return uint64_t(rows) * uint64_t(columns); }
};

// sums[i] = the sum over j of weight j times element (i, j).
void project(const FloatMatrix& matrix, uint64_t seed, double* sums);

}  // namespace deepbench::cpu
