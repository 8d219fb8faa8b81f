// A recurrent layer as a library computes it in int8: sums of integers in 32 bits, the shift of the
// states subtracted, gates in float. A mutant makes it wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/fill.h"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench::testing {

class NaiveInt8Rnn {
 public:
  NaiveInt8Rnn(const Rnn& rnn, deepbench_type integers, uint64_t seed = 1)
      : rnn_(rnn), dequantize_(1 / (Rnn::kDataScale * rnn.weights_scale(integers))) {
    const int64_t g = rnn.gates(), h = rnn.hidden, n = rnn.batch;
    x_ = fill(DEEPBENCH_S8, Rnn::kStreamX, rnn.timesteps * n, 1, seed);
    wx_ = fill(integers, Rnn::kStreamWx, g * h, 1, seed);
    u_ = fill(integers, Rnn::kStreamU, g * h * h, 1, seed);
    b_ = fill(DEEPBENCH_F32, Rnn::kStreamB, g * h, 0.5f, seed);
    h0_ = fill(DEEPBENCH_S8, Rnn::kStreamH0, n * h, 1, seed);
    c_ = c0_ = fill(DEEPBENCH_F32, Rnn::kStreamC0, n * h, 0.5f, seed);
  }

  std::string mutant;  // the name of the error to make, if any
  // if set, each step starts from these outputs instead of its predecessor's
  std::vector<double> given;

  std::vector<float> forward() {
    std::vector<float> y;
    for (int64_t t = 0; t < rnn_.timesteps; ++t)
      for (int64_t n = 0; n < rnn_.batch; ++n) {
        const std::vector<float> h = step(t, n, states_before(t, n, y));
        y.insert(y.end(), h.begin(), h.end());
      }
    return y;
  }

 private:
  using Values = std::vector<float>;

  static Values fill(deepbench_type type, uint32_t stream, int64_t count, float scale,
                     uint64_t seed) {
    Values values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(scale * deepbench_element(type, seed, stream, uint64_t(i)));
    return values;
  }
  static float sigmoid(float v) { return 1 / (1 + std::exp(-v)); }

  // Integers in [-128, 127].
  float quantized(float h) const {
    if (mutant == "states stay float") return h * 128;
    const float scaled =
        mutant == "states are truncated" ? std::floor(h * 128) : std::nearbyint(h * 128);
    return std::clamp(scaled, -128.0f, 127.0f);
  }

  Values states_before(int64_t t, int64_t n, const Values& y) const {
    const auto at = [&](int64_t step) { return (step * rnn_.batch + n) * rnn_.hidden; };
    if (t == 0) return Values(h0_.begin() + at(0), h0_.begin() + at(0) + rnn_.hidden);
    Values h(size_t(rnn_.hidden));
    for (int64_t j = 0; j < rnn_.hidden; ++j) {
      const auto place = size_t(at(t - 1) + j);
      h[size_t(j)] = given.empty() ? y[place] * 128 : float(given[place]) * 128;
    }
    return h;
  }

  // Saturates as pairs of products summed in 16 bits do.
  static float pair(float a, float b) { return std::clamp(a + b, -32768.0f, 32767.0f); }

  // Returns z + s of a gate.
  float gate_sum(int64_t t, int64_t n, int64_t g, int64_t i, const Values& h) const {
    if (mutant == "gates swapped" && g < 2) g = 1 - g;
    const auto row = size_t(g * rnn_.hidden + i), hidden = size_t(rnn_.hidden);
    const float* const u = u_.data() + row * hidden;
    const size_t terms = hidden - (mutant == "last term dropped" ? 1 : 0);
    double sum = double(x_[size_t(t * rnn_.batch + n)] + 128) * wx_[row], shifts = 128 * wx_[row];
    if (mutant == "no input") sum = shifts = 0;
    for (size_t j = 0; j < terms; j += 2) {
      const float first = u[j] * (h[j] + 128);
      const float second = j + 1 < terms ? u[j + 1] * (h[j + 1] + 128) : 0;
      sum += mutant == "sums saturate" ? pair(first, second) : double(first) + second;
    }
    for (size_t j = 0; j < terms; ++j) shifts += 128 * double(u[j]);
    if (mutant == "one row keeps the shift" && row == 5) shifts = 0;
    const double scale = mutant == "wrong scale" ? 1.01 * dequantize_ : dequantize_;
    const float bias = mutant == "no bias of a gate" && g == 1 ? 0 : b_[row];
    return float(sum * scale) + (bias - float(shifts * scale));
  }

  Values step(int64_t t, int64_t n, const Values& before) {
    Values reset(before), now;
    if (rnn_.cell == "gru_reset_before")
      for (size_t j = 0; j < before.size(); ++j)
        reset[j] = quantized(sigmoid(gate_sum(t, n, 1, int64_t(j), before)) * before[j] / 128);
    for (int64_t i = 0; i < rnn_.hidden; ++i) {
      const float h = rnn_.cell == "lstm" ? lstm_state(t, n, i, before)
                                          : gru_state(before[size_t(i)] / 128,
                                                      sigmoid(gate_sum(t, n, 0, i, before)),
                                                      std::tanh(gate_sum(t, n, 2, i, reset)));
      now.push_back(mutant == "a tile is zero" && i < 4 && n == 0 ? 0 : quantized(h) / 128);
    }
    return now;
  }

  static float gru_state(float before, float update, float candidate) {
    return update * before + (1 - update) * candidate;
  }

  float lstm_state(int64_t t, int64_t n, int64_t i, const Values& before) {
    const auto place = size_t(n * rnn_.hidden + i);
    float& c = c_[place];
    if (mutant == "c is not carried") c = c0_[place];
    c = sigmoid(gate_sum(t, n, 1, i, before)) * c +
        sigmoid(gate_sum(t, n, 0, i, before)) * std::tanh(gate_sum(t, n, 2, i, before));
    return sigmoid(gate_sum(t, n, 3, i, before)) * std::tanh(c);
  }

  Rnn rnn_;
  double dequantize_;
  Values x_, wx_, u_, b_, h0_, c0_, c_;
};

}  // namespace deepbench::testing
