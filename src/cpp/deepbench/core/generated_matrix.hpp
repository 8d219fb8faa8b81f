// Products of generated matrices and vectors in double precision. The matrix is generated tile by
// tile and never stored.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/input_generator.hpp"

namespace deepbench {

// The nonzero elements of a sparse operand: an element is nonzero if the upper half of
// deepbench_bits(seed, stream, index) is at least `threshold`.
struct SparsityPattern {
  uint64_t seed;
  uint32_t stream, threshold;
};

// The scales of the blocks of an operand, which are small integers: each element is multiplied by
// the scale of its block. A block has `height` rows and `width` columns of the matrix as it is
// stored.
struct BlockScales {
  const InputGenerator& inputs;
  uint32_t stream;
  int64_t height, width;
  int64_t down, right;  // distance from the index of a block's scale to that of the next block

  double mean_square() const { return inputs.mean_square(DEEPBENCH_F32, stream); }
};

// A generated operand, or a part of one, in column-major order.
struct GeneratedMatrix {
  const InputGenerator& inputs;
  deepbench_type type;
  uint32_t stream;
  int64_t rows, columns;
  const SparsityPattern* pattern = nullptr;  // null: the matrix is dense
  uint64_t first = 0;                        // element of the operand with which the matrix begins
  std::optional<BlockScales> scales = {};

  double mean_square() const {
    return inputs.mean_square(type, stream) * (scales ? scales->mean_square() : 1);
  }
};

struct MatrixSums {
  std::vector<double> sums;     // elements of the product
  std::vector<double> squares;  // per row (or column): the sum of its squared elements
  // The products with further vectors: elements of the product, and the sums of the squares of the
  // terms that each of them adds up.
  struct Further {
    std::vector<double> sums, squares;
  };
  std::vector<Further> further;
};

// Computes M x (one sum per row) or, where `transposed` is set, x M (one sum per column). It uses
// all threads, and the result does not depend on their number.
DEEPBENCH_API std::vector<double> multiply_by_vector(const GeneratedMatrix& matrix, bool transposed,
                                                     const std::vector<double>& x);
// The matrix is generated once for x and all `further` vectors.
DEEPBENCH_API MatrixSums multiply_by_vector_with_squares(
    const GeneratedMatrix& matrix, bool transposed, const std::vector<double>& x,
    const std::vector<std::vector<double>>& further = {});

}  // namespace deepbench
