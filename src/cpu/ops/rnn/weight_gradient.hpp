// U's gradient in the reference, computed from the results of its backward pass: either all of it
// or only the part that verification reads. This sum over all steps of all sequences takes a third
// of a backward pass, whereas single elements and a projection onto random weights take almost no
// time.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench::cpu {

// The gates [first, first + count), whose parts of U are multiplied with the same vectors.
struct GateGroup {
  int64_t first = 0, count = 0;
  // h' or r h' as [state_row][unit]; there is a row of states for each step and sequence.
  const float* factors = nullptr;
};

class WeightGradient {
 public:
  // `ds` is the gradient of s, [state_row][gate][unit].
  WeightGradient(const Rnn& rnn, const float* ds, std::vector<GateGroup> groups);

  // Computes the whole gradient, [gate][unit][j].
  void complete(float* du) const;

  // Reads elements that are the intersections of some rows and columns of each gate. Returns false
  // for other sets of elements; they are cheaper to read from the whole gradient.
  bool read(const uint64_t* indices, size_t count, double* values) const;

  // Adds this gradient's part of the projection of an output. The gradient begins at column
  // `first_column` of that output.
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
