// The pointwise part of a recurrent step and of its gradient, for one unit: rnn.hpp's formulas,
// with the errors that the precision, and what a kernel says of itself, let a library make.
#pragma once

#include <cmath>

#include "deepbench/core/expectation.hpp"
#include "deepbench/ops/rnn/approximate.hpp"
#include "deepbench/ops/rnn/rnn.hpp"

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
    Approximate gate[4];  // after their activation
    Approximate kept;     // lstm: c; gru: s_o + b'; vanilla: z + s
    Approximate h;
  };

  struct Gradient {
    Approximate z[4];  // of z_g
    Approximate s_o;   // gru: of s_o + b'; elsewhere s has the gradient of z
  };

  // Own errors are divided by `spread`: 1 for bounds, more for deviations.
  RnnCell(const Rnn& rnn, const Conditions& conditions, double spread);

  bool is_vanilla() const { return kind_ == Kind::kVanilla; }
  bool is_lstm() const { return kind_ == Kind::kLstm; }
  bool is_gru() const { return kind_ == Kind::kGru; }
  bool resets_before() const { return kind_ == Kind::kResetBefore; }
  static constexpr int kReset = 1, kCandidate = 2;  // of gru's gates

  // r, which gru_reset_before's candidate waits for, and r h' as the product takes it.
  Approximate reset(const Approximate& z, const Approximate& s) const { return gate(z, s); }
  Approximate reset_state(const Approximate& r, const Approximate& h) const {
    return quantises_ ? quantised(r * h, Rnn::kDataScale) : (r * h).rounded(operand_roundoff_);
  }

  // h with the bound of how it is stored: of 8 bits a quarter of a step, so that the next value is
  // a wrong one.
  Approximate stored(const Approximate& h) const {
    if (!quantises_)
      return {h.value,
              h.error + output_roundoff_ * (std::abs(h.value) + h.error) + smallest_rounding_};
    const Approximate kept = quantised(h, Rnn::kDataScale);
    return {kept.value, kept.error + 0.25 / Rnn::kDataScale};
  }

  // z and s by gate; gru's last s comes with b'. `before` is the state of the step before.
  State step(const Approximate* inputs, const Approximate* products, const State& before) const;

  // `gradient_of_h` is the whole of it, `dc` that of c, which becomes that of the step before;
  // returns the part of h' that goes by no product. Of gru_reset_before without the gradient of r.
  Approximate back(const State& state, const State& before, const Approximate& gradient_of_h,
                   Approximate& dc, Gradient& gradient) const;
  // The gradient of r h' makes that of r, and adds to that of h'.
  Approximate back_reset(const State& state, const State& before, const Approximate& dp,
                         Gradient& gradient) const;

  // A recurrent product as it is kept before anything is added to it.
  Approximate kept(const Approximate& sum) const { return sum.rounded(sums_roundoff_); }
  // What its parts are rounded by, whose size is the root of the sum of the terms' squares.
  double partial_error(double size) const { return partial_roundoff_ * size; }

  // As the recurrent product takes its operands.
  Approximate operand(const Approximate& value) const { return value.rounded(operand_roundoff_); }

 private:
  enum class Kind { kVanilla, kLstm, kGru, kResetBefore };

  Approximate gate(const Approximate& z, const Approximate& s) const {
    return sigmoid((z + s).rounded(gates_roundoff_), activation_error_).rounded(gates_roundoff_);
  }
  Approximate squashed(const Approximate& sum) const {
    return tanh(sum.rounded(gates_roundoff_), activation_error_).rounded(gates_roundoff_);
  }
  Approximate back_vanilla(const State& state, const Approximate& dh, Gradient& gradient) const;
  Approximate back_lstm(const State& state, const State& before, const Approximate& dh,
                        Approximate& dc, Gradient& gradient) const;
  Approximate back_gru(const State& state, const State& before, const Approximate& dh,
                       Gradient& gradient) const;

  Kind kind_;
  double activation_error_;
  bool quantises_;
  bool has_kink_;  // whose side is not known
  double output_roundoff_;
  double operand_roundoff_;      // of what a product reads in a narrow type; 0: float
  double gates_roundoff_ = 0;    // of gates kept in a narrow type
  double memory_roundoff_ = 0;   // of lstm's c and its gradient
  double sums_roundoff_ = 0;     // of products kept in a narrow type before they are added to
  double partial_roundoff_ = 0;  // of parts of their sums
  double smallest_rounding_;     // of what is stored, however small: half has subnormals
};

}  // namespace deepbench
