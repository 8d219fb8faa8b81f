// The contents of a recurrent layer's operands: the elements of fill.h, scaled as rnn.hpp says.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/input_generator.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench {

class RnnOperands {
 public:
  // Takes the number of inputs per step from the kernel's facts.
  RnnOperands(const Rnn& rnn, const KernelConditions& conditions);

  const Rnn& rnn() const { return rnn_; }

  // Writes elements [first, first + count) of a stream; float holds those of every precision
  // exactly.
  void fill(uint32_t stream, int64_t first, int64_t count, float* out) const;
  std::vector<float> all_elements(uint32_t stream, int64_t count) const;

  // Writes the row of U for one gate and unit.
  void generate_recurrent_row(int64_t gate, int64_t unit, float* row) const {
    fill(Rnn::kStreamU, (gate * rnn_.hidden + unit) * rnn_.hidden, rnn_.hidden, row);
  }
  double recurrent_mean_square() const;

  // The product of the weights and inputs of a gate and unit; the input part z adds the bias.
  double input_product(int64_t gate, int64_t unit, int64_t step, int64_t sequence) const;
  double bias(int64_t gate, int64_t unit) const {
    return bias_[static_cast<size_t>(gate * rnn_.hidden + unit)];
  }
  double input_weight(int64_t gate, int64_t unit) const {
    return wx_[static_cast<size_t>(gate * rnn_.hidden + unit)];
  }
  double element(uint32_t stream, int64_t index) const;

 private:
  // The fill.h type of a stream, and the factor that multiplies its elements.
  deepbench_type type_of(uint32_t stream) const;
  double scale_of(uint32_t stream) const;

  Rnn rnn_;
  InputGenerator inputs_;
  deepbench_type integers_;           // type of int8's U and Wx
  std::vector<float> bias_, wx_, x_;  // wx and x are empty unless each step has one input
};

}  // namespace deepbench
