// The step of one unit and its gradient, for each kind of cell.
#include "deepbench/ops/rnn/cell.hpp"

#include <algorithm>

namespace deepbench {

RnnCell::RnnCell(const Rnn& rnn, const KernelConditions& conditions, double bound_factor)
    : kind_(rnn.cell == "vanilla" ? Kind::kVanilla
            : rnn.cell == "lstm"  ? Kind::kLstm
            : rnn.cell == "gru"   ? Kind::kGru
                                  : Kind::kGruResetBefore),
      activation_error_((conditions.facts.text("activations") == "fast" ? kFastActivationError
                                                                        : kActivationError) /
                        bound_factor),
      quantizes_(rnn.is_quantized()),
      relu_side_unknown_(!conditions.from_tested_forward),
      output_roundoff_(rnn.precision.output_roundoff),
      absolute_roundoff_(rnn.precision.absolute_roundoff()) {
  // For standard deviations, half of the largest rounding error is used, which exceeds the
  // deviation of the error.
  const double output = rnn.precision.output_roundoff / (bound_factor > 1 ? 2 : 1);
  operand_roundoff_ = output > kRoundoffFloat ? output : 0;
  const auto roundoff = [&](const char* fact) {
    return conditions.facts.text(fact, "float") == "float" ? 0 : operand_roundoff_;
  };
  gates_roundoff_ = roundoff("gates");
  cell_state_roundoff_ = roundoff("cell_state");
  sums_roundoff_ = roundoff("sums");
  partial_roundoff_ = kPartialSumRoundings * roundoff("partial_sums");
}

RnnCell::State RnnCell::step(const ValueWithError* inputs, const ValueWithError* products,
                             const State& previous) const {
  const ValueWithError* const z = inputs;
  ValueWithError s[4];
  for (int i = 0; i < (is_vanilla() ? 1 : is_lstm() ? 4 : 3); ++i) s[i] = stored_sum(products[i]);
  State next;
  ValueWithError* const g = next.gate;
  if (is_vanilla()) {
    next.saved = (z[0] + s[0]).rounded(gates_roundoff_);
    next.h = {std::max(next.saved.value, 0.0), next.saved.error};
  } else if (is_lstm()) {
    for (const int i : {0, 1, 3}) g[i] = gate(z[i], s[i]);
    g[2] = tanh_gate(z[2] + s[2]);
    next.saved = (g[1] * previous.saved + g[0] * g[2]).rounded(cell_state_roundoff_);
    next.h = g[3] * tanh(next.saved, activation_error_);
  } else {
    for (const int i : {0, 1}) g[i] = gate(z[i], s[i]);
    next.saved = s[2];
    g[2] = tanh_gate(is_gru() ? z[2] + g[1] * s[2] : z[2] + s[2]);
    next.h = g[0] * previous.h + one_minus(g[0]) * g[2];
  }
  return next;
}

ValueWithError RnnCell::backward(const State& state, const State& previous,
                                 const ValueWithError& gradient_of_h, ValueWithError& dc,
                                 Gradient& gradient) const {
  const ValueWithError dh = gradient_of_h.rounded(sums_roundoff_);
  if (is_vanilla()) return backward_vanilla(state, dh, gradient);
  if (is_lstm()) return backward_lstm(state, previous, dh, dc, gradient);
  return backward_gru(state, previous, dh, gradient);
}

// A sum that lies n standard deviations from ReLU's kink is on the other side with a probability of
// about exp(-n^2 / 2) / 2, and the gradient is then wrong by its full value. This term vanishes
// where the side that the library took is known.
ValueWithError RnnCell::backward_vanilla(const State& state, const ValueWithError& dh,
                                         Gradient& gradient) const {
  const ValueWithError& sum = state.saved;
  const bool may_flip = relu_side_unknown_ && sum.error > 0;
  const double distance = may_flip ? sum.value / sum.error : 0;
  const double flips =
      may_flip ? dh.value * dh.value * 0.5 * std::exp(-0.5 * distance * distance) : 0;
  const double error = sum.value > 0 ? dh.error : 0;
  gradient.z[0] = {sum.value > 0 ? dh.value : 0, std::sqrt(error * error + flips)};
  return {};
}

ValueWithError RnnCell::backward_lstm(const State& state, const State& previous,
                                      const ValueWithError& dh, ValueWithError& dc,
                                      Gradient& gradient) const {
  const ValueWithError &i = state.gate[0], &f = state.gate[1], &g = state.gate[2],
                       &o = state.gate[3];
  const ValueWithError tanh_c = tanh(state.saved, activation_error_);
  dc = dc + dh * o * one_minus(tanh_c * tanh_c);
  gradient.z[0] = dc * g * (i * one_minus(i));
  gradient.z[1] = dc * previous.saved * (f * one_minus(f));
  gradient.z[2] = dc * i * one_minus(g * g);
  gradient.z[3] = dh * tanh_c * (o * one_minus(o));
  dc = (dc * f).rounded(cell_state_roundoff_);
  return {};
}

ValueWithError RnnCell::backward_gru(const State& state, const State& previous,
                                     const ValueWithError& dh, Gradient& gradient) const {
  const ValueWithError &u = state.gate[0], &r = state.gate[1], &candidate = state.gate[2];
  gradient.z[0] = dh * (previous.h - candidate) * (u * one_minus(u));
  gradient.z[2] = dh * one_minus(u) * one_minus(candidate * candidate);
  gradient.s_o = gradient.z[2];
  if (is_gru()) {
    gradient.z[1] = gradient.z[2] * state.saved * (r * one_minus(r));
    gradient.s_o = gradient.z[2] * r;
  }
  return dh * u;
}

ValueWithError RnnCell::backward_reset_gate(const State& state, const State& previous,
                                            const ValueWithError& dp, Gradient& gradient) const {
  const ValueWithError& r = state.gate[kReset];
  gradient.z[kReset] = dp * previous.h * (r * one_minus(r));
  return dp * r;
}

}  // namespace deepbench
