// Computes one weighted sum for each row of a float matrix. The weight of each column comes from
// fill.h.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// A matrix in column-major or row-major storage.
struct FloatMatrix {
  const float* data = nullptr;
  int64_t rows = 0, columns = 0;
  bool by_columns = true;

  uint64_t size() const { return uint64_t(rows) * uint64_t(columns); }
};

// Computes sums[i] = the sum over j of weight j times element (i, j).
void project(const FloatMatrix& matrix, uint64_t seed, double* sums);

}  // namespace deepbench::cpu
