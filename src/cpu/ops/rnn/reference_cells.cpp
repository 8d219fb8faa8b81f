// Cells of recurrent layers, pointwise, forward and backward.
#include "ops/rnn/reference_cells.hpp"

#include <cmath>
#include <string>

#include "deepbench/fill.h"
#include "deepbench/plugin.hpp"

namespace deepbench::cpu {
namespace {

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// z + s of a gate; z alone where the gate is reset before it is added.
float input_part(const CellStep& t, int gate, int64_t i) {
  return t.b[size_t(gate)][i] + t.wx[size_t(gate)][i] * t.x;
}
float sum_of(const CellStep& t, int gate, int64_t i) {
  return input_part(t, gate, i) + t.gate[size_t(gate)][i];
}

float handed_on(const CellStep& t, float h) {
  return t.to_bfloat16 ? deepbench_widen(deepbench_round(h, 8, 7), 8, 7) : h;
}

// ---- vanilla -----------------------------------------------------------------------------------

void vanilla_forward(const CellStep& t) {
  for (int64_t i = 0; i < t.hidden; ++i) t.h[i] = handed_on(t, std::fmax(sum_of(t, 0, i), 0.0f));
}

void vanilla_backward(const CellStep& t, const CellGradient& g) {
  float dx = 0;
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float dz = t.h[i] > 0 ? g.dh[i] + g.dy[i] : 0;
    g.ds[0][i] = dz;
    g.dh[i] = 0;
    dx += dz * t.wx[0][i];
  }
  *g.dx = dx;
}

// ---- lstm --------------------------------------------------------------------------------------

void lstm_forward(const CellStep& t) {
  for (int64_t k = 0; k < t.hidden; ++k) {
    const float i = sigmoid(sum_of(t, 0, k)), f = sigmoid(sum_of(t, 1, k));
    const float candidate = std::tanh(sum_of(t, 2, k)), o = sigmoid(sum_of(t, 3, k));
    t.gate[0][k] = i, t.gate[1][k] = f, t.gate[2][k] = candidate, t.gate[3][k] = o;
    t.c[k] = f * t.c_before[k] + i * candidate;
    t.h[k] = handed_on(t, o * std::tanh(t.c[k]));
  }
}

void lstm_backward(const CellStep& t, const CellGradient& g) {
  float dx = 0;
  for (int64_t k = 0; k < t.hidden; ++k) {
    const float i = t.gate[0][k], f = t.gate[1][k], candidate = t.gate[2][k], o = t.gate[3][k];
    const float dh = g.dh[k] + g.dy[k], tanh_c = std::tanh(t.c[k]);
    const float dc = g.dc[k] + dh * o * (1 - tanh_c * tanh_c);
    const float ds[] = {dc * candidate * i * (1 - i), dc * t.c_before[k] * f * (1 - f),
                        dc * i * (1 - candidate * candidate), dh * tanh_c * o * (1 - o)};
    for (size_t gate = 0; gate < 4; ++gate) {
      g.ds[gate][k] = ds[gate];
      dx += ds[gate] * t.wx[gate][k];
    }
    g.dh[k] = 0;
    g.dc[k] = dc * f;
  }
  *g.dx = dx;
}

// ---- gru: reset after the product --------------------------------------------------------------

void gru_forward(const CellStep& t) {
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float u = sigmoid(sum_of(t, 0, i)), r = sigmoid(sum_of(t, 1, i));
    t.aside[i] = t.gate[2][i] + t.b[3][i];
    const float o = std::tanh(input_part(t, 2, i) + r * t.aside[i]);
    t.gate[0][i] = u, t.gate[1][i] = r, t.gate[2][i] = o;
    t.h[i] = handed_on(t, u * t.h_before[i] + (1 - u) * o);
  }
}

void gru_backward(const CellStep& t, const CellGradient& g) {
  float dx = 0;
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float u = t.gate[0][i], r = t.gate[1][i], o = t.gate[2][i];
    const float dh = g.dh[i] + g.dy[i];
    const float dz_u = dh * (t.h_before[i] - o) * u * (1 - u);
    const float dz_o = dh * (1 - u) * (1 - o * o);
    const float dz_r = dz_o * t.aside[i] * r * (1 - r);
    g.ds[0][i] = dz_u, g.ds[1][i] = dz_r, g.ds[2][i] = dz_o * r;
    g.dh[i] = dh * u;
    dx += dz_u * t.wx[0][i] + dz_r * t.wx[1][i] + dz_o * t.wx[2][i];
  }
  *g.dx = dx;
}

// ---- gru_reset_before --------------------------------------------------------------------------

void reset_before_first(const CellStep& t) {
  for (int64_t i = 0; i < t.hidden; ++i) {
    t.gate[0][i] = sigmoid(sum_of(t, 0, i));
    t.gate[1][i] = sigmoid(sum_of(t, 1, i));
    t.aside[i] = handed_on(t, t.gate[1][i] * t.h_before[i]);
  }
}

void reset_before_forward(const CellStep& t) {
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float u = t.gate[0][i], o = std::tanh(sum_of(t, 2, i));
    t.gate[2][i] = o;
    t.h[i] = handed_on(t, u * t.h_before[i] + (1 - u) * o);
  }
}

void reset_before_backward(const CellStep& t, const CellGradient& g) {
  float dx = 0;
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float u = t.gate[0][i], o = t.gate[2][i];
    const float dh = g.dh[i] + g.dy[i];
    g.ds[0][i] = dh * (t.h_before[i] - o) * u * (1 - u);
    g.ds[2][i] = dh * (1 - u) * (1 - o * o);
    g.dh[i] = dh * u;
    dx += g.ds[0][i] * t.wx[0][i] + g.ds[2][i] * t.wx[2][i];
  }
  *g.dx = dx;
}

void reset_before_last(const CellStep& t, const CellGradient& g) {
  float dx = 0;
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float r = t.gate[1][i];
    g.ds[1][i] = g.dreset[i] * t.h_before[i] * r * (1 - r);
    g.dh[i] += g.dreset[i] * r;
    dx += g.ds[1][i] * t.wx[1][i];
  }
  *g.dx += dx;
}

}  // namespace

const Cell& cell_named(const std::string& name) {
  static constexpr Cell kVanilla = {vanilla_forward, vanilla_backward, nullptr, nullptr};
  static constexpr Cell kLstm = {lstm_forward, lstm_backward, nullptr, nullptr};
  static constexpr Cell kGru = {gru_forward, gru_backward, nullptr, nullptr};
  static constexpr Cell kResetBefore = {reset_before_forward, reset_before_backward,
                                        reset_before_first, reset_before_last};
  if (name == "vanilla") return kVanilla;
  if (name == "lstm") return kLstm;
  if (name == "gru") return kGru;
  if (name == "gru_reset_before") return kResetBefore;
  plugin::unsupported("no cell is called '" + name + "'");
}

}  // namespace deepbench::cpu
