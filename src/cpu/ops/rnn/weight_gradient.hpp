// U's gradient in the reference, made from what its backward pass left: all of it, or only what
// verification looks at. A third of a backward pass is this sum over all steps of all sequences;
// single elements and a projection onto random weights cost next to nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench::cpu {

// Gates [first, first + count), whose U is multiplied with the same vectors.
struct GateGroup {
  int64_t first = 0, count = 0;
  const float* factors =
      nullptr;  // [state_row][unit], rows of states being steps times sequences: h' or r h'
};

class WeightGradient {
 public:
  // `ds` is the gradient of s, [state_row][gate][unit].
  WeightGradient(const Rnn& rnn, const float* ds, std::vector<GateGroup> groups);

  // All of it, [gate][unit][j].
  void complete(float* du) const;

  // Elements that are the crossings of some rows and columns of each gate. Returns whether they
  // are; others had better be read from the whole.
  bool read(const uint64_t* indices, size_t count, double* values) const;

  // Adds its part to the projection of an output of which it begins with column `first_column`.
  static bool can_project(const Rnn& rnn, uint64_t rows);
  void add_projection(uint64_t rows, uint64_t seed, uint64_t first_column, double* sums) const;

 private:
  int64_t hidden() const { return rnn_.hidden; }
  int64_t state_rows() const { return rnn_.timesteps * rnn_.batch; }
  const GateGroup& group_of(int64_t gate) const;
  std::vector<float> submatrix(int64_t gate, const std::vector<int64_t>& rows,
                               const std::vector<int64_t>& columns) const;

  const Rnn& rnn_;
  const float* ds_;
  const std::vector<GateGroup> groups_;
};

}  // namespace deepbench::cpu
