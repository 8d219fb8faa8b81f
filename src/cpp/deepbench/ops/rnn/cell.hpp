// The pointwise part of a recurrent step and of its gradient for one unit. It evaluates the
// formulas of rnn.hpp together with the errors that a library may make, given the precision and the
// facts of the kernel.
#pragma once

#include <algorithm>
#include <cmath>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/ops/rnn/rnn.hpp"
#include "deepbench/ops/rnn/value_with_error.hpp"

namespace deepbench {

// Error bounds of the vendors' sigmoid and tanh in float: 4 units of binary place 22. For kernels
// with the fact activations=fast: 4 units of binary place 19.
inline constexpr double kActivationError = 1.0 / (1 << 20);
inline constexpr double kFastActivationError = 1.0 / (1 << 17);

// Roundings allowed for partial sums, whose size is about the root of the sum of the terms'
// squares.
inline constexpr double kPartialSumRoundings = 4;

class RnnCell {
 public:
  // The values of one unit after a step; the backward pass needs all of them.
  struct State {
    ValueWithError gate[4];  // values after the activation
    ValueWithError saved;    // lstm: c; gru: s_o + b'; vanilla: z + s
    ValueWithError h;
  };

  struct Gradient {
    ValueWithError z[4];  // gradient of z_g
    ValueWithError s_o;   // gru: gradient of s_o + b'; the other cells' s has the gradient of z
  };

  // The errors of each operation are divided by `bound_factor`: 1 yields bounds, more yields
  // standard deviations.
  RnnCell(const Rnn& rnn, const KernelConditions& conditions, double bound_factor);

  bool is_vanilla() const { return kind_ == Kind::kVanilla; }
  bool is_lstm() const { return kind_ == Kind::kLstm; }
  bool is_gru() const { return kind_ == Kind::kGru; }
  bool is_gru_reset_before() const { return kind_ == Kind::kGruResetBefore; }
  static constexpr int kReset = 1, kCandidate = 2;  // indices of gru's gates

  // reset_gate() computes r, which gru_reset_before needs ahead of its candidate; reset_state()
  // computes r h' as the recurrent product reads it.
  ValueWithError reset_gate(const ValueWithError& z, const ValueWithError& s) const {
    return gate(z, s);
  }
  ValueWithError reset_state(const ValueWithError& r, const ValueWithError& h) const {
    return quantizes_ ? quantize(r * h, Rnn::kDataScale) : (r * h).rounded(operand_roundoff_);
  }

  // h with the error of storing it. An 8-bit value may differ by a quarter of a quantization step,
  // so that the neighboring integer counts as wrong.
  ValueWithError stored_state(const ValueWithError& h) const {
    if (!quantizes_)
      return {h.value,
              h.error + output_roundoff_ * (std::abs(h.value) + h.error) + absolute_roundoff_};
    const ValueWithError quantized = quantize(h, Rnn::kDataScale);
    return {quantized.value, quantized.error + 0.25 / Rnn::kDataScale};
  }

  // `inputs` holds z and `products` holds s for each gate; for gru's candidate `products` includes
  // b'. `previous` is the state of the preceding step.
  State step(const ValueWithError* inputs, const ValueWithError* products,
             const State& previous) const;

  // `gradient_of_h` is the complete gradient of h. `dc` is the gradient of c on entry and that of
  // the preceding step's c on return. Returns the part of the gradient of h' that passes through no
  // recurrent product. For gru_reset_before, backward_reset_gate() computes the gradient of r.
  ValueWithError backward(const State& state, const State& previous,
                          const ValueWithError& gradient_of_h, ValueWithError& dc,
                          Gradient& gradient) const;
  // Computes the gradient of r from `dp`, the gradient of r h', and returns the contribution to the
  // gradient of h'.
  ValueWithError backward_reset_gate(const State& state, const State& previous,
                                     const ValueWithError& dp, Gradient& gradient) const;

  // The input part z, from the product of weights and inputs and the bias. A library may store the
  // sum of both products before it adds the bias, which may cancel most of it.
  ValueWithError input_part(double product, double bias, double error) const {
    const double z = product + bias;
    return {z, error + sums_roundoff_ * std::max(std::abs(product), std::abs(z))};
  }
  // A recurrent product as the library stores it before adding to it.
  ValueWithError stored_sum(const ValueWithError& sum) const { return sum.rounded(sums_roundoff_); }
  // The rounding error of partial sums; `size` is the root of the sum of the terms' squares.
  double partial_error(double size) const { return partial_roundoff_ * size; }

  // A value as the recurrent product reads it.
  ValueWithError as_operand(const ValueWithError& value) const {
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
  ValueWithError backward_lstm(const State& state, const State& previous, const ValueWithError& dh,
                               ValueWithError& dc, Gradient& gradient) const;
  ValueWithError backward_gru(const State& state, const State& previous, const ValueWithError& dh,
                              Gradient& gradient) const;

  Kind kind_;
  double activation_error_;
  bool quantizes_;
  bool relu_side_unknown_;  // the side of ReLU's kink that the library took is unknown
  double output_roundoff_;
  double operand_roundoff_;  // roundoff of operands that a product reads in a narrow type; 0: float
  double gates_roundoff_ = 0;       // roundoff of gates stored in a narrow type
  double cell_state_roundoff_ = 0;  // roundoff of lstm's c and its gradient
  double sums_roundoff_ = 0;        // roundoff of recurrent products stored in a narrow type
  double partial_roundoff_ = 0;     // roundoff of partial sums
  double absolute_roundoff_;  // roundoff of arbitrarily small stored values: half has subnormals
};

}  // namespace deepbench
