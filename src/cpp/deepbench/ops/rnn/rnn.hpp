// One recurrent layer over a sequence: the typed problem, the formulas of its cells, and the layout
// of its operands and outputs. Header-only, for the core and for backends.
//
// Step t of sequence n, with h' = h(t-1), h(-1) = h0 (lstm: also c' with c0). For gate g of unit i
//     z_g = b_g[i] + the input part    (one input: Wx[g][i] x[t][n]; skipped: x[t][n][i])
//     s_g = sum over j of U[g][i][j] h'[j]
//     vanilla           h = relu(z_0 + s_0)
//     lstm  (i f c o)   h = o tanh(c), c = f c' + i tanh(z_c + s_c), i, f, o = sigmoid(z + s)
//     gru   (u r o)     h = u h' + (1 - u) tanh(z_o + r (s_o + b'[i])), u, r = sigmoid(z + s)
//     gru_reset_before  h = u h' + (1 - u) tanh(z_o + sum over j of U[o][i][j] r[j] h'[j])
// Gates are numbered in the order given here.
//
// Only the recurrent product counts as work: T steps of gates x hidden x hidden times a batch of N.
// The input part is as small as the library permits; Rnn::inputs says how small.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "deepbench/core/precision.hpp"

namespace deepbench {

struct Rnn {
  std::string cell, phase, mode;
  int64_t hidden = 0, batch = 0, timesteps = 0;
  PrecisionInfo precision;
  // Inputs per step: 1, or `hidden` if the input is added to every gate directly.
  int64_t inputs = 1;

  // fill.h streams, and the layout of their elements. Values are those of fill.h times a power of
  // two, which every precision holds exactly.
  static constexpr uint32_t kStreamX = 0;   // [t][n][input]
  static constexpr uint32_t kStreamWx = 1;  // [gate][unit], if each step has one input
  static constexpr uint32_t kStreamU = 2;   // [gate][unit][j]
  static constexpr uint32_t kStreamB = 3;   // [gate][unit]; for gru b' follows as a fourth gate
  static constexpr uint32_t kStreamH0 = 4;  // [n][unit]
  static constexpr uint32_t kStreamC0 = 5;  // [n][unit], lstm
  static constexpr uint32_t kStreamDy = 6;  // [t][n][unit]: the gradient that backward starts from

  int64_t gates() const { return cell == "lstm" ? 4 : cell == "vanilla" ? 1 : 3; }
  int64_t biases() const { return cell == "gru" ? 4 : gates(); }
  bool is_training() const { return mode == "training"; }
  bool is_forward() const { return phase == "fwd"; }
  bool has_data_gradient() const { return phase == "bwd" || phase == "bwd_data"; }
  bool has_weight_gradient() const { return phase == "bwd" || phase == "bwd_weights"; }

  int64_t states() const { return batch * hidden; }          // elements of one step
  int64_t sequence() const { return timesteps * states(); }  // elements of all steps
  int64_t weights() const { return gates() * hidden * hidden; }

  // The values of U are those of fill.h times this power of two, which lies between 1/2 and 1 over
  // sqrt(hidden): no cell grows, however long the sequence is. All other operands have the scale
  // 1/2.
  double recurrent_scale() const { return std::exp2(-std::ceil(std::log2(double(hidden)) / 2)); }
  static constexpr double kScale = 0.5;

  // int8: x and h0 are the integers of fill.h divided by kDataScale; h is a multiple of 1 /
  // kDataScale in [-1, 1) too. U and Wx, for which libraries have a single scale, are integers
  // divided by weights_scale() and have the range that recurrent_scale() gives U. Biases, c0, c and
  // the stored h(t) are float.
  static constexpr double kDataScale = 128;
  bool is_quantized() const { return precision.precision == Precision::kInt8; }
  double weights_scale(deepbench_type integers) const {
    return (integers == DEEPBENCH_S7 ? 64 : 128) / recurrent_scale();
  }

  // The output of each phase, as consecutive parts:
  //     fwd          y = h(t)   [t][n][unit]
  //     bwd_data     dx         [t][n][input], then dh0 [n][unit]
  //     bwd_weights  dU         [gate][unit][j]
  //     bwd          dx, dh0 and dU, if the library computes them in one call
  int64_t dx_elements() const { return has_data_gradient() ? timesteps * batch * inputs : 0; }
  int64_t dh0_elements() const { return has_data_gradient() ? states() : 0; }
  int64_t du_elements() const { return has_weight_gradient() ? weights() : 0; }
  int64_t outputs() const {
    return is_forward() ? sequence() : dx_elements() + dh0_elements() + du_elements();
  }

  // Useful work; each gradient counts as much as the forward pass.
  double flops() const {
    const double pass = 2.0 * double(weights()) * double(batch) * double(timesteps);
    return phase == "bwd" ? 2 * pass : pass;
  }

  // Steps that follow one another. The gradient of the weights alone is one product over all steps.
  int64_t dependent_steps() const { return phase == "bwd_weights" ? 0 : timesteps; }
};

template <class Attributes>
Rnn rnn_problem(const Attributes& a) {
  Rnn rnn;
  rnn.cell = a.text("cell"), rnn.phase = a.text("phase"), rnn.mode = a.text("mode");
  rnn.hidden = a.integer("hidden"), rnn.batch = a.integer("batch");
  rnn.timesteps = a.integer("timesteps");
  rnn.precision = precision_info(a.text("precision"));
  return rnn;
}

}  // namespace deepbench
