// The pointwise part of a recurrent step and of its gradient, for one unit: rnn.hpp's formulas,
// with the errors that the precision, and what a kernel says of itself, let a library make.
#pragma once

#include <cmath>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/rnn/rnn.hpp"
#include "deepbench/ops/rnn/value_with_error.hpp"

namespace deepbench {

// Of vendors' sigmoid and tanh in float: 4 units of the 22nd place; of those that a kernel calls
// fast, 4 of the 19th.
inline constexpr double kActivationError = 1.0 / (1 << 20);
inline constexpr double kFastActivationError = 1.0 / (1 << 17);

// Roundings of parts of a sum, which are about as large as the root of its terms' squares.
inline constexpr double kPartialSums = 4;

class RnnCell {
 public:
  // What a step leaves of a unit; backward needs all of it.
  struct State {
    ValueWithError gate[4];  // after their activation
    ValueWithError saved;    // lstm: c; gru: s_o + b'; vanilla: z + s
    ValueWithError h;
  };

  struct Gradient {
    ValueWithError z[4];  // of z_g
    ValueWithError s_o;   // gru: of s_o + b'; elsewhere s has the gradient of z
  };

  // Own errors are divided by `bound_factor`: 1 for bounds, more for deviations.
  RnnCell(const Rnn& rnn, const KernelConditions& conditions, double bound_factor);

  bool is_vanilla() const { return kind_ == Kind::kVanilla; }
  bool is_lstm() const { return kind_ == Kind::kLstm; }
  bool is_gru() const { return kind_ == Kind::kGru; }
  bool is_gru_reset_before() const { return kind_ == Kind::kGruResetBefore; }
  static constexpr int kReset = 1, kCandidate = 2;  // of gru's gates

  // r, which gru_reset_before's candidate waits for, and r h' as the product takes it.
  ValueWithError reset(const ValueWithError& z, const ValueWithError& s) const {
    return gate(z, s);
  }
  ValueWithError reset_state(const ValueWithError& r, const ValueWithError& h) const {
    return quantises_ ? quantise(r * h, Rnn::kDataScale) : (r * h).rounded(operand_roundoff_);
  }

  // h with the bound of how it is stored: of 8 bits a quarter of a step, so that the next value is
  // a wrong one.
  ValueWithError stored(const ValueWithError& h) const {
    if (!quantises_)
      return {h.value,
              h.error + output_roundoff_ * (std::abs(h.value) + h.error) + absolute_roundoff_};
    const ValueWithError quantised = quantise(h, Rnn::kDataScale);
    return {quantised.value, quantised.error + 0.25 / Rnn::kDataScale};
  }

  // z and s by gate; gru's last s comes with b'. `before` is the state of the step before.
  State step(const ValueWithError* inputs, const ValueWithError* products,
             const State& before) const;

  // `gradient_of_h` is the whole of it, `dc` that of c, which becomes that of the step before;
  // returns the part of h' that goes by no product. Of gru_reset_before without the gradient of r.
  ValueWithError backward(const State& state, const State& before,
                          const ValueWithError& gradient_of_h, ValueWithError& dc,
                          Gradient& gradient) const;
  // The gradient of r h' makes that of r, and adds to that of h'.
  ValueWithError backward_reset_gate(const State& state, const State& before,
                                     const ValueWithError& dp, Gradient& gradient) const;

  // A recurrent product as it is kept before anything is added to it.
  ValueWithError stored_sum(const ValueWithError& sum) const { return sum.rounded(sums_roundoff_); }
  // What its parts are rounded by, whose size is the root of the sum of the terms' squares.
  double partial_error(double size) const { return partial_roundoff_ * size; }

  // As the recurrent product takes its operands.
  ValueWithError operand(const ValueWithError& value) const {
    return value.rounded(operand_roundoff_);
  }

 private:
  enum class Kind { kVanilla, kLstm, kGru, kGruResetBefore };

  ValueWithError gate(const ValueWithError& z, const ValueWithError& s) const {
    return sigmoid((z + s).rounded(gates_roundoff_), activation_error_).rounded(gates_roundoff_);
  }
  ValueWithError tanh_gate(const ValueWithError& sum) const {
    return tanh(sum.rounded(gates_roundoff_), activation_error_).rounded(gates_roundoff_);
  }
  ValueWithError backward_vanilla(const State& state, const ValueWithError& dh,
                                  Gradient& gradient) const;
  ValueWithError backward_lstm(const State& state, const State& before, const ValueWithError& dh,
                               ValueWithError& dc, Gradient& gradient) const;
  ValueWithError backward_gru(const State& state, const State& before, const ValueWithError& dh,
                              Gradient& gradient) const;

  Kind kind_;
  double activation_error_;
  bool quantises_;
  bool relu_side_unknown_;  // whose side is not known
  double output_roundoff_;
  double operand_roundoff_;         // of what a product reads in a narrow type; 0: float
  double gates_roundoff_ = 0;       // of gates kept in a narrow type
  double cell_state_roundoff_ = 0;  // of lstm's c and its gradient
  double sums_roundoff_ = 0;        // of products kept in a narrow type before they are added to
  double partial_roundoff_ = 0;     // of parts of their sums
  double absolute_roundoff_;        // of what is stored, however small: half has subnormals
};

}  // namespace deepbench
