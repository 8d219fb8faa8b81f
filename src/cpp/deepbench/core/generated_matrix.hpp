// Products of generated matrices with vectors, in double, without ever storing a matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/inputs.hpp"

namespace deepbench {

// Which elements of a sparse operand are not zero: those whose word, the upper half of
// deepbench_bits(seed, stream, index), is at least this.
struct Pattern {
  uint64_t seed;
  uint32_t stream, least;
};

// A generated operand, stored column after column.
struct GeneratedMatrix {
  const Inputs& inputs;
  deepbench_type type;
  uint32_t stream;
  int64_t rows, columns;
  const Pattern* pattern = nullptr;  // none: every element counts
};

struct MatrixSums {
  std::vector<double> sums;     // of the matrix times the vector
  std::vector<double> squares;  // of the row's (or column's) elements squared
};

// M x, or, transposed, x M: one sum for each row, or column. On all threads, the same result for
// any number of them.
DEEPBENCH_API MatrixSums times_vector(const GeneratedMatrix& matrix, bool transposed,
                                      const std::vector<double>& x);

}  // namespace deepbench
