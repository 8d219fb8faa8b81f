// Products of generated matrices with vectors, in double, without ever storing a matrix.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/input_generator.hpp"

namespace deepbench {

// Which elements of a sparse operand are not zero: those whose word, the upper half of
// deepbench_bits(seed, stream, index), is at least this.
struct SparsityPattern {
  uint64_t seed;
  uint32_t stream, threshold;
};

// A generated operand, stored column after column.
struct GeneratedMatrix {
  const InputGenerator& inputs;
  deepbench_type type;
  uint32_t stream;
  int64_t rows, columns;
  const SparsityPattern* pattern = nullptr;  // none: every element counts
};

struct MatrixSums {
  std::vector<double> sums;     // of the matrix times the vector
  std::vector<double> squares;  // of the row's (or column's) elements squared
};

// M x, or, transposed, x M: one sum for each row, or column. On all threads, the same result for
// any number of them.
DEEPBENCH_API MatrixSums multiply_by_vector(const GeneratedMatrix& matrix, bool transposed,
                                            const std::vector<double>& x);

}  // namespace deepbench
