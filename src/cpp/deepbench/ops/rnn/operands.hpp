// What the operands of a recurrent layer hold: fill.h's elements, scaled as rnn.hpp says.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/input_generator.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

class RnnOperands {
 public:
  // With the number of a step's inputs that the kernel says.
  RnnOperands(const Rnn& rnn, const KernelConditions& conditions);

  const Rnn& rnn() const { return rnn_; }

  // Elements [first, first + count) of a stream; every precision's are exact in float.
  void fill(uint32_t stream, int64_t first, int64_t count, float* out) const;
  std::vector<float> all(uint32_t stream, int64_t count) const;

  // Of U, the row of one gate and unit.
  void recurrent_row(int64_t gate, int64_t unit, float* row) const {
    fill(Rnn::kStreamU, (gate * rnn_.hidden + unit) * rnn_.hidden, rnn_.hidden, row);
  }
  double recurrent_mean_square() const;

  // The input part z of a gate, unit by unit.
  double input_part(int64_t gate, int64_t unit, int64_t step, int64_t sequence) const;
  double bias(int64_t gate, int64_t unit) const {
    return bias_[static_cast<size_t>(gate * rnn_.hidden + unit)];
  }
  double wx(int64_t gate, int64_t unit) const {
    return wx_[static_cast<size_t>(gate * rnn_.hidden + unit)];
  }
  double element(uint32_t stream, int64_t index) const;

 private:
  // What fill.h is asked for, and by how much that is multiplied.
  deepbench_type type_of(uint32_t stream) const;
  double scale_of(uint32_t stream) const;

  Rnn rnn_;
  InputGenerator inputs_;
  deepbench_type integers_;           // of int8's U and Wx
  std::vector<float> bias_, wx_, x_;  // wx and x with one input only
};

}  // namespace deepbench
