// The pointwise forward and backward parts of each cell.
#include "ops/rnn/reference_cells.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/fill.h"
#include "deepbench/plugin.hpp"

namespace deepbench::cpu {
namespace {

// ---- activations of a whole row, which dominate a cell's time ---------------------------------

// e^x to within two roundoffs, unless the result is denormal: 2^n e^r with |r| < 0.35, by the
// series of e^r. The compiler can vectorize these steps, unlike a call of the C library's function.
inline __attribute__((always_inline)) float exponential(float x) {
  constexpr float kRounds = 12582912;  // 1.5 * 2^23: the last bits of a sum with it are an integer.
  x = x < -87 ? -87 : x > 88 ? 88 : x;
  const float sum = x * 1.44269504f + kRounds, n = sum - kRounds;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float series = 1.0f / 5040;
  series = series * r + 1.0f / 720;
  series = series * r + 1.0f / 120;
  series = series * r + 1.0f / 24;
  series = series * r + 1.0f / 6;
  series = series * r + 0.5f;
  series = (series * r + 1) * r + 1;
  uint32_t bits;
  std::memcpy(&bits, &sum, sizeof bits);
  bits = (bits << 23) + 0x3f800000u;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return series * power;
}

DEEPBENCH_VECTOR_CLONES void sigmoids(float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = 1 / (1 + exponential(-values[i]));
}

DEEPBENCH_VECTOR_CLONES void tanhs(float* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] = 2 / (1 + exponential(-2 * values[i])) - 1;
}

DEEPBENCH_VECTOR_CLONES void add_row(const float* bias, const float* wx, float x, float* values,
                                     int64_t count) {
  for (int64_t i = 0; i < count; ++i) values[i] += bias[i] + wx[i] * x;
}

// Adds the input's share z to a gate's s.
float* add_input_term(const CellStep& t, size_t gate) {
  add_row(t.b[gate], t.wx[gate], t.x, t.gate[gate], t.hidden);
  return t.gate[gate];
}

float round_state(const CellStep& t, float h) {
  return t.rounds_to_bfloat16 ? deepbench_widen(deepbench_round(h, 8, 7), 8, 7) : h;
}

// ---- vanilla -----------------------------------------------------------------------------------

void vanilla_forward(const CellStep& t) {
  const float* const sum = add_input_term(t, 0);
  for (int64_t i = 0; i < t.hidden; ++i) t.h[i] = round_state(t, std::max(sum[i], 0.0f));
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
  for (const size_t gate : {0, 1, 3}) sigmoids(add_input_term(t, gate), t.hidden);
  tanhs(add_input_term(t, 2), t.hidden);
  for (int64_t k = 0; k < t.hidden; ++k)
    t.h[k] = t.c[k] = t.gate[1][k] * t.c_before[k] + t.gate[0][k] * t.gate[2][k];
  tanhs(t.h, t.hidden);
  for (int64_t k = 0; k < t.hidden; ++k) t.h[k] = round_state(t, t.gate[3][k] * t.h[k]);
}

void lstm_backward(const CellStep& t, const CellGradient& g) {
  float dx = 0;
  std::vector<float> squashed(t.c, t.c + t.hidden);
  tanhs(squashed.data(), t.hidden);
  for (int64_t k = 0; k < t.hidden; ++k) {
    const float i = t.gate[0][k], f = t.gate[1][k], candidate = t.gate[2][k], o = t.gate[3][k];
    const float dh = g.dh[k] + g.dy[k], tanh_c = squashed[size_t(k)];
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

// ---- gru and gru_reset_before -----------------------------------------------------------------

void interpolate_state(const CellStep& t) {
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float u = t.gate[0][i];
    t.h[i] = round_state(t, u * t.h_before[i] + (1 - u) * t.gate[2][i]);
  }
}

// ---- gru: reset after the product --------------------------------------------------------------

void gru_forward(const CellStep& t) {
  for (const size_t gate : {0, 1}) sigmoids(add_input_term(t, gate), t.hidden);
  for (int64_t i = 0; i < t.hidden; ++i) {
    t.reset_term[i] = t.gate[2][i] + t.b[3][i];
    t.gate[2][i] = t.gate[1][i] * t.reset_term[i];
  }
  tanhs(add_input_term(t, 2), t.hidden);
  interpolate_state(t);
}

void gru_backward(const CellStep& t, const CellGradient& g) {
  float dx = 0;
  for (int64_t i = 0; i < t.hidden; ++i) {
    const float u = t.gate[0][i], r = t.gate[1][i], o = t.gate[2][i];
    const float dh = g.dh[i] + g.dy[i];
    const float dz_u = dh * (t.h_before[i] - o) * u * (1 - u);
    const float dz_o = dh * (1 - u) * (1 - o * o);
    const float dz_r = dz_o * t.reset_term[i] * r * (1 - r);
    g.ds[0][i] = dz_u, g.ds[1][i] = dz_r, g.ds[2][i] = dz_o * r;
    g.dh[i] = dh * u;
    dx += dz_u * t.wx[0][i] + dz_r * t.wx[1][i] + dz_o * t.wx[2][i];
  }
  *g.dx = dx;
}

// ---- gru_reset_before --------------------------------------------------------------------------

void reset_before_first(const CellStep& t) {
  for (const size_t gate : {0, 1}) sigmoids(add_input_term(t, gate), t.hidden);
  for (int64_t i = 0; i < t.hidden; ++i)
    t.reset_term[i] = round_state(t, t.gate[1][i] * t.h_before[i]);
}

void reset_before_forward(const CellStep& t) {
  tanhs(add_input_term(t, 2), t.hidden);
  interpolate_state(t);
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
  plugin::unsupported("unknown cell '" + name + "'");
}

}  // namespace deepbench::cpu
