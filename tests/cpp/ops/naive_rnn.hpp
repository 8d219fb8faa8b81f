// A recurrent layer in plain loops, from the formulas of rnn.hpp. In double it is the expected
// result, in float a possible library result, and with a mutant a wrong result.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/fill.h"
#include "deepbench/ops/rnn/rnn.hpp"

namespace deepbench::testing {

template <class Real>
class NaiveRnn {
 public:
  using Values = std::vector<Real>;

  explicit NaiveRnn(const Rnn& rnn, uint64_t seed = 1) : rnn_(rnn), g_(rnn.gates()) {
    const int64_t h = rnn.hidden, t = rnn.timesteps, n = rnn.batch;
    x = fill(Rnn::kStreamX, t * n * rnn.inputs, 0.5, seed);
    wx = fill(Rnn::kStreamWx, g_ * h, 0.5, seed);
    u = fill(Rnn::kStreamU, g_ * h * h, rnn.recurrent_scale(), seed);
    b = fill(Rnn::kStreamB, (rnn.cell == "gru" ? 4 : g_) * h, 0.5, seed);
    h0 = fill(Rnn::kStreamH0, n * h, 0.5, seed);
    c0 = fill(Rnn::kStreamC0, n * h, 0.5, seed);
    dy = fill(Rnn::kStreamDy, t * n * h, 0.5, seed);
  }

  Values x, wx, u, b, h0, c0, dy;
  std::string mutant;        // the name of the error to make, if any
  bool narrow = false;       // h and r h' are stored in half where the precision is, or in bfloat16
  bool narrow_sums = false;  // products and inputs are rounded to bfloat16 before they are added
  bool bias_last = false;  // with narrow_sums: their sum alone is rounded, before the bias is added
  Real gain = 1;           // every h(t) is multiplied by this factor
  Values forced;  // if not empty, each step starts from these h(t) instead of its predecessor's

  Real round(Real value) const {
    if (!narrow) return value;
    if (rnn_.precision.c == DEEPBENCH_F16)
      return Real(deepbench_from_half(deepbench_to_half(float(value))));
    return Real(deepbench_from_bfloat16(deepbench_to_bfloat16(float(value))));
  }

  Real rounded_sum(Real value) const {
    return narrow_sums ? Real(deepbench_from_bfloat16(deepbench_to_bfloat16(float(value)))) : value;
  }

  // Computes h(t) of all steps; gates and sums remain for the backward pass.
  const Values& forward() {
    const size_t all = size_t(rnn_.sequence());
    h.assign(all, 0), c.assign(all, 0), gate.assign(all * size_t(g_), 0), inner.assign(all, 0);
    for (int64_t t = 0; t < rnn_.timesteps; ++t)
      for (int64_t n = 0; n < rnn_.batch; ++n) step(t, n);
    return h;
  }

  // Returns dx, dh0 and dU, as far as the phase computes them.
  Values backward() {
    forward();
    dx.assign(size_t(rnn_.timesteps * rnn_.batch * rnn_.inputs), 0);
    du.assign(u.size(), 0), dh.assign(h0.size(), 0), dc.assign(h0.size(), 0);
    for (int64_t t = rnn_.timesteps - 1; t >= 0; --t)
      for (int64_t n = 0; n < rnn_.batch; ++n) backward_step(t, n);
    Values out;
    if (rnn_.has_data_gradient()) {
      out = dx;
      out.insert(out.end(), dh.begin(), dh.end());
    }
    if (rnn_.has_weight_gradient()) out.insert(out.end(), du.begin(), du.end());
    return out;
  }

  // The function that the backward pass differentiates: the sum of dy h.
  Real loss() {
    forward();
    Real sum = 0;
    for (size_t i = 0; i < h.size(); ++i) sum += dy[i] * h[i];
    return sum;
  }

 private:
  Values fill(uint32_t stream, int64_t count, double scale, uint64_t seed) const {
    Values values;
    for (int64_t i = 0; i < count; ++i) {
      const double value = scale * deepbench_element(rnn_.precision.a, seed, stream, uint64_t(i));
      values.push_back(Real(value));
      if (rnn_.precision.a == DEEPBENCH_F16)  // half's subnormals lose their last places
        values.back() = Real(deepbench_from_half(deepbench_to_half(float(value))));
    }
    return values;
  }

  static Real sigmoid(Real v) { return 1 / (1 + std::exp(-v)); }
  size_t state_index(int64_t t, int64_t n, int64_t i) const {
    return size_t((t * rnn_.batch + n) * rnn_.hidden + i);
  }
  Real& gate_of(int64_t t, int64_t n, int64_t g, int64_t i) {
    return gate[size_t(((t * rnn_.batch + n) * g_ + g) * rnn_.hidden + i)];
  }
  Real h_before(int64_t t, int64_t n, int64_t i) const {
    const Values& from = forced.empty() ? h : forced;
    return t > 0 ? from[state_index(t - 1, n, i)] : h0[state_index(0, n, i)];
  }
  Real c_before(int64_t t, int64_t n, int64_t i) const {
    if (mutant == "c0 is zero" && t == 0) return 0;
    if (mutant == "c is not carried") return c0[state_index(0, n, i)];
    return t > 0 ? c[state_index(t - 1, n, i)] : c0[state_index(0, n, i)];
  }
  size_t u_at(int64_t g, int64_t i, int64_t j) const {
    if (mutant == "gates swapped" && g < 2 && g_ > 1) g = 1 - g;
    return size_t((g * rnn_.hidden + i) * rnn_.hidden + j);
  }

  // Returns the sum over j of U[g][i][j] v[j].
  template <class Vector>
  Real dot(int64_t g, int64_t i, const Vector& v) const {
    Real sum = 0;
    const int64_t terms = rnn_.hidden - (mutant == "last term dropped" ? 1 : 0);
    const bool narrow_partial_sums = mutant == "bfloat16 sums";
    const Real* const row = u.data() + u_at(g, i, 0);
    for (int64_t j = 0; j < terms; ++j) {
      sum += row[j] * v(j);
      if (narrow_partial_sums)
        sum = Real(deepbench_from_bfloat16(deepbench_to_bfloat16(float(sum) / 64))) * 64;
    }
    return bias_last ? sum : rounded_sum(sum);
  }

  Real input_product(int64_t t, int64_t n, int64_t g, int64_t i) const {
    const int64_t place = t * rnn_.batch + n;
    if (mutant == "no input") return 0;
    return rnn_.inputs == 1 ? wx[size_t(g * rnn_.hidden + i)] * x[size_t(place)]
                            : x[size_t(place * rnn_.hidden + i)];
  }

  Real input_term(int64_t t, int64_t n, int64_t g, int64_t i) const {
    return rounded_sum(b[size_t(g * rnn_.hidden + i)] + input_product(t, n, g, i));
  }

  void step(int64_t t, int64_t n) {
    std::vector<Real> reset(size_t(rnn_.hidden)), previous(reset);
    for (int64_t j = 0; j < rnn_.hidden; ++j) previous[size_t(j)] = h_before(t, n, j);
    const auto before = [values = previous.data()](int64_t j) { return values[j]; };
    for (int64_t j = 0; j < rnn_.hidden && g_ == 3; ++j)
      reset[size_t(j)] =
          round(sigmoid(input_term(t, n, 1, j) + dot(1, j, before)) * h_before(t, n, j));
    for (int64_t i = 0; i < rnn_.hidden; ++i) {
      Real s[4] = {};
      for (int64_t g = 0; g < g_; ++g) s[g] = dot(g, i, before);
      if (rnn_.cell == "gru_reset_before")
        s[2] = dot(2, i, [&](int64_t j) { return reset[size_t(j)]; });
      h[state_index(t, n, i)] = round(gain * unit_state(t, n, i, s));
      if (mutant == "a tile is zero" && i < 4 && n == 0) h[state_index(t, n, i)] = 0;
      if (mutant == "a unit off by 1 %" && i == 7) h[state_index(t, n, i)] *= Real(1.01);
      if (mutant == "a unit is zero" && i == rnn_.hidden * 5 / 8) h[state_index(t, n, i)] = 0;
    }
  }

  Real unit_state(int64_t t, int64_t n, int64_t i, const Real* s) {
    const auto a = [&](int64_t g) {
      if (!bias_last) return input_term(t, n, g, i) + s[g];
      return b[size_t(g * rnn_.hidden + i)] + rounded_sum(input_product(t, n, g, i) + s[g]);
    };
    if (rnn_.cell == "vanilla") return gate_of(t, n, 0, i) = std::max(a(0), Real(0));
    if (rnn_.cell == "lstm") {
      const Real in = gate_of(t, n, 0, i) = sigmoid(a(0));
      const Real forget = gate_of(t, n, 1, i) = sigmoid(a(1));
      const Real candidate = gate_of(t, n, 2, i) = std::tanh(a(2));
      const Real out = gate_of(t, n, 3, i) = sigmoid(a(3));
      c[state_index(t, n, i)] = forget * c_before(t, n, i) + in * candidate;
      return out * std::tanh(c[state_index(t, n, i)]);
    }
    const Real update = gate_of(t, n, 0, i) = sigmoid(a(0));
    const Real r = gate_of(t, n, 1, i) = sigmoid(a(1));
    Real sum = a(2);
    if (rnn_.cell == "gru") {
      inner[state_index(t, n, i)] =
          s[2] + (mutant == "no inner bias" ? 0 : b[size_t(3 * rnn_.hidden + i)]);
      sum = input_term(t, n, 2, i) + r * inner[state_index(t, n, i)];
    }
    const Real candidate = gate_of(t, n, 2, i) = std::tanh(sum);
    return update * h_before(t, n, i) + (1 - update) * candidate;
  }

  // Adds the gradient of s of one gate to dh and, with `v` as its factors, to dU.
  template <class Vector>
  void add_gradient_of_sum(int64_t t, int64_t n, int64_t g, int64_t i, Real ds, const Vector& v,
                           std::vector<Real>& to) {
    const bool no_weights = (mutant == "dU without step 0" && t == 0) ||
                            (mutant == "dU without a step of a sequence" &&
                             t == rnn_.timesteps / 2 && n == rnn_.batch - 1);
    for (int64_t j = 0; j < rnn_.hidden; ++j) {
      to[size_t(j)] += u[u_at(g, i, j)] * ds;
      if (!no_weights) du[u_at(g, i, j)] += ds * v(j);
    }
  }

  void add_input(int64_t t, int64_t n, int64_t g, int64_t i, Real dz) {
    const int64_t place = t * rnn_.batch + n;
    if (mutant == "dx without the last gate" && g == g_ - 1) return;
    if (rnn_.inputs == 1)
      dx[size_t(place)] += wx[size_t(g * rnn_.hidden + i)] * dz;
    else
      dx[size_t(place * rnn_.hidden + i)] += dz;
  }

  void backward_step(int64_t t, int64_t n) {
    if (mutant == "last step dropped" && t == rnn_.timesteps - 1) return;
    const auto before = [&](int64_t j) { return h_before(t, n, j); };
    const auto reset = [&](int64_t j) { return gate_of(t, n, 1, j) * h_before(t, n, j); };
    std::vector<Real> dh_before(size_t(rnn_.hidden)), dp(size_t(rnn_.hidden));
    for (int64_t i = 0; i < rnn_.hidden; ++i) {
      Real dz[4] = {}, ds[4] = {};
      dh_before[size_t(i)] += gate_gradients(t, n, i, dz, ds);
      for (int64_t g = 0; g < g_; ++g) {
        if (rnn_.cell == "gru_reset_before" && g == 1) continue;
        add_input(t, n, g, i, dz[g]);
        if (rnn_.cell == "gru_reset_before" && g == 2)
          add_gradient_of_sum(t, n, g, i, ds[g], reset, dp);
        else
          add_gradient_of_sum(t, n, g, i, ds[g], before, dh_before);
      }
    }
    for (int64_t j = 0; j < rnn_.hidden && rnn_.cell == "gru_reset_before"; ++j) {
      const Real r = gate_of(t, n, 1, j);
      const Real dz = dp[size_t(j)] * h_before(t, n, j) * r * (1 - r);
      dh_before[size_t(j)] += dp[size_t(j)] * r;
      add_input(t, n, 1, j, dz);
      add_gradient_of_sum(t, n, 1, j, dz, before, dh_before);
    }
    for (int64_t j = 0; j < rnn_.hidden; ++j)
      dh[state_index(0, n, j)] = mutant == "h' gets no gradient" ? 0 : dh_before[size_t(j)];
  }

  // Computes the gradients of z and s of unit i; returns the direct part of the gradient of h'.
  Real gate_gradients(int64_t t, int64_t n, int64_t i, Real* dz, Real* ds) {
    const Real d = dy[state_index(t, n, i)] + dh[state_index(0, n, i)];
    const auto g = [&](int64_t k) { return gate_of(t, n, k, i); };
    if (rnn_.cell == "vanilla") {
      ds[0] = dz[0] = g(0) > 0 ? d : 0;
      return 0;
    }
    if (rnn_.cell == "lstm") {
      Real& carried = dc[state_index(0, n, i)];
      const Real squashed = std::tanh(c[state_index(t, n, i)]);
      carried += d * g(3) * (1 - squashed * squashed);
      dz[0] = carried * g(2) * g(0) * (1 - g(0));
      dz[1] = carried * c_before(t, n, i) * g(1) * (1 - g(1));
      dz[2] = carried * g(0) * (1 - g(2) * g(2));
      dz[3] = d * squashed * g(3) * (1 - g(3));
      carried *= g(1);
      for (int k = 0; k < 4; ++k) ds[k] = dz[k];
      return 0;
    }
    ds[0] = dz[0] = d * (h_before(t, n, i) - g(2)) * g(0) * (1 - g(0));
    ds[2] = dz[2] = d * (1 - g(0)) * (1 - g(2) * g(2));
    if (rnn_.cell == "gru") {
      ds[1] = dz[1] = dz[2] * inner[state_index(t, n, i)] * g(1) * (1 - g(1));
      ds[2] = dz[2] * g(1);
    }
    return d * g(0);
  }

  Rnn rnn_;
  int64_t g_;
  Values h, c, gate, inner, dx, du, dh, dc;
};

}  // namespace deepbench::testing
