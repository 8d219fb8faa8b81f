// Steps forward and backward through time: computes the recurrent products of each step on all
// threads, then the pointwise part of each sequence.
#include "deepbench/ops/rnn/gradients.hpp"

#include <algorithm>
#include <cmath>

#include "deepbench/core/parallel.hpp"

namespace deepbench {
namespace {

constexpr int64_t kMinThreadUnits = 2048;
constexpr int64_t kMinUnitsPerPart = 16;

}  // namespace

RnnGradients::RnnGradients(const RnnOperands& operands, const KernelConditions& conditions)
    : operands_(operands),
      rnn_(operands.rnn()),
      gates_(rnn_.gates()),
      hidden_(rnn_.hidden),
      cell_(rnn_, conditions, kDeviationsPerBound),
      state_gates_(cell_.is_gru_reset_before() ? RnnCell::kCandidate : gates_),
      weight_square_(operands.recurrent_mean_square()),
      dy_(operands.all_elements(Rnn::kStreamDy, rnn_.sequence())) {
  const auto states = size_t(rnn_.states()), sequence = size_t(rnn_.sequence());
  pack_recurrent_weights();
  states_.resize(states + sequence);
  h_.resize(states), reset_.resize(cell_.is_gru_reset_before() ? states : 0);
  sums_.resize(states * size_t(gates_));
  ds_.resize(sequence * size_t(gates_)), ds_error_.resize(ds_.size());
  gradient_.resize(states), dh_.resize(states), dc_.resize(states);
  dx_.resize(size_t(rnn_.dx_elements()));
}

std::vector<ValueWithError> RnnGradients::run() {
  set_initial_state();
  for (int64_t t = 0; t < rnn_.timesteps; ++t) forward_step(t);
  for (int64_t t = rnn_.timesteps - 1; t >= 0; --t) backward_step(t);
  std::vector<ValueWithError> out = std::move(dx_);
  out.reserve(size_t(rnn_.outputs()));
  if (rnn_.has_data_gradient()) out.insert(out.end(), dh_.begin(), dh_.end());
  for (int64_t gate = 0; gate < gates_ && rnn_.has_weight_gradient(); ++gate)
    add_gate_gradient(gate, out);
  return out;
}

void RnnGradients::for_each_sequence(const std::function<void(int64_t)>& body) const {
  parallel_for(rnn_.batch, 1 + kMinThreadUnits / hidden_, [&](int64_t begin, int64_t end, int) {
    for (int64_t n = begin; n < end; ++n) body(n);
  });
}

void RnnGradients::set_initial_state() {
  const std::vector<float> h0 = operands_.all_elements(Rnn::kStreamH0, rnn_.states());
  const std::vector<float> c0 = operands_.all_elements(Rnn::kStreamC0, rnn_.states());
  for (size_t i = 0; i < h0.size(); ++i) {
    states_[i].h = {h0[i], 0};
    if (cell_.is_lstm()) states_[i].saved = {c0[i], 0};
  }
}

void RnnGradients::pack_recurrent_weights() {
  const std::vector<float> u = operands_.all_elements(Rnn::kStreamU, rnn_.weights());
  for (int64_t gate = 0; gate < gates_; gate += state_gates_) {
    const float* const first = u.data() + gate * hidden_ * hidden_;
    const int64_t rows = std::min(state_gates_, gates_ - gate) * hidden_;
    forward_.emplace_back(first, hidden_, rows, 1, hidden_);
    backward_.emplace_back(first, rows, hidden_, hidden_, 1);
  }
}

void RnnGradients::add_forward_product(int64_t gate, const double* h) {
  forward_[size_t(gate / state_gates_)].add_product(
      rnn_.batch, h, hidden_, sums_.data() + gate * hidden_, gates_ * hidden_);
}

void RnnGradients::set_backward_product(int64_t t, int64_t gate, std::vector<double>& sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  const double* const ds = ds_.data() + t * rnn_.states() * gates_ + gate * hidden_;
  backward_[size_t(gate / state_gates_)].add_product(rnn_.batch, ds, gates_ * hidden_, sums.data(),
                                                     hidden_);
}

ValueWithError RnnGradients::sum_of_products(double sum, int64_t terms,
                                             const Squares& squares) const {
  const double sum_error = std::sqrt(double(terms)) / 2 * rnn_.precision.sum_roundoff;
  const double size = std::sqrt(squares.values + sum * sum);
  return {sum, sum_error * size + cell_.partial_error(size) / kDeviationsPerBound +
                   rnn_.precision.input_roundoff * std::sqrt(squares.values) +
                   std::sqrt(squares.errors)};
}

ValueWithError RnnGradients::recurrent_sum(double sum, int64_t terms, const Squares& vector) const {
  return sum_of_products(sum, terms,
                         {weight_square_ * vector.values, weight_square_ * vector.errors});
}

ValueWithError RnnGradients::input_contribution(int64_t gate, int64_t unit, int64_t t,
                                                int64_t n) const {
  return cell_.input_part(operands_.input_product(gate, unit, t, n), operands_.bias(gate, unit),
                          kRoundoffFloat + rnn_.precision.input_roundoff / kDeviationsPerBound);
}

void RnnGradients::forward_step(int64_t t) {
  std::fill(sums_.begin(), sums_.end(), 0.0);
  for (size_t i = 0; i < h_.size(); ++i) h_[i] = states_[size_t(t) * h_.size() + i].h.value;
  add_forward_product(0, h_.data());
  if (cell_.is_gru_reset_before()) {
    for_each_sequence([&](int64_t n) { compute_reset_gates(t, n); });
    add_forward_product(RnnCell::kCandidate, reset_.data());
  }
  for_each_sequence([&](int64_t n) { forward_sequence(t, n); });
}

// Stores r in the state, because the candidate's factors need it.
void RnnGradients::compute_reset_gates(int64_t t, int64_t n) {
  Squares h;
  for (int64_t j = 0; j < hidden_; ++j) h.add(state_before(t, n, j).h);
  for (int64_t unit = 0; unit < hidden_; ++unit) {
    const double sum = sums_[gate_index(n, RnnCell::kReset, unit)];
    state_after(t, n, unit).gate[RnnCell::kReset] = cell_.reset_gate(
        input_contribution(RnnCell::kReset, unit, t, n), recurrent_sum(sum, hidden_, h));
    reset_[unit_index(n, unit)] = weight_factor(RnnCell::kCandidate, t, n, unit).value;
  }
}

ValueWithError RnnGradients::recurrent_sum_of_gate(int64_t gate, int64_t unit, int64_t n,
                                                   const Squares& h, const Squares& reset) const {
  const bool is_candidate = !cell_.is_lstm() && gate == RnnCell::kCandidate;
  const ValueWithError s = recurrent_sum(sums_[gate_index(n, gate, unit)], hidden_,
                                         cell_.is_gru_reset_before() && is_candidate ? reset : h);
  if (cell_.is_gru() && is_candidate)
    return cell_.stored_sum(s) + ValueWithError{operands_.bias(3, unit), 0};
  return s;
}

void RnnGradients::forward_sequence(int64_t t, int64_t n) {
  Squares h, reset;
  for (int64_t j = 0; j < hidden_; ++j) {
    h.add(state_before(t, n, j).h);
    if (cell_.is_gru_reset_before()) reset.add(weight_factor(RnnCell::kCandidate, t, n, j));
  }
  for (int64_t unit = 0; unit < hidden_; ++unit) {
    ValueWithError z[4], s[4];
    for (int64_t gate = 0; gate < gates_; ++gate) {
      z[gate] = input_contribution(gate, unit, t, n);
      s[gate] = recurrent_sum_of_gate(gate, unit, n, h, reset);
    }
    RnnCell::State& state = state_after(t, n, unit);
    state = cell_.step(z, s, state_before(t, n, unit));
    state.h = cell_.as_operand(state.h);
  }
}

void RnnGradients::backward_step(int64_t t) {
  for_each_sequence([&](int64_t n) { backward_sequence(t, n); });
  if (cell_.is_gru_reset_before()) {
    set_backward_product(t, RnnCell::kCandidate, reset_);
    for_each_sequence([&](int64_t n) { backward_reset(t, n); });
  }
  set_backward_product(t, 0, h_);
  for_each_sequence([&](int64_t n) { finish_sequence(t, n); });
}

// Computes the gradients of the gates, and the part of the gradient of h' that passes through no
// product.
void RnnGradients::backward_sequence(int64_t t, int64_t n) {
  for (int64_t unit = 0; unit < hidden_; ++unit) {
    const size_t index = unit_index(n, unit);
    const ValueWithError dy = {dy_[size_t(t * rnn_.states()) + index], 0};
    RnnCell::Gradient& unit_gradient = gradient_[index];
    dh_[index] = cell_.backward(state_after(t, n, unit), state_before(t, n, unit), dy + dh_[index],
                                dc_[index], unit_gradient);
    for (int64_t gate = 0; gate < gates_; ++gate) {
      const bool is_inner = !cell_.is_lstm() && gate == RnnCell::kCandidate;
      set_gradient(t, n, gate, unit, is_inner ? unit_gradient.s_o : unit_gradient.z[gate]);
    }
  }
}

void RnnGradients::backward_reset(int64_t t, int64_t n) {
  Squares candidate;
  for (int64_t i = 0; i < hidden_; ++i) candidate.add(gradient(t, n, RnnCell::kCandidate, i));
  for (int64_t unit = 0; unit < hidden_; ++unit) {
    const size_t index = unit_index(n, unit);
    const ValueWithError dp = recurrent_sum(reset_[index], hidden_, candidate);
    RnnCell::Gradient& unit_gradient = gradient_[index];
    dh_[index] =
        dh_[index] + cell_.backward_reset_gate(state_after(t, n, unit), state_before(t, n, unit),
                                               dp, unit_gradient);
    set_gradient(t, n, RnnCell::kReset, unit, unit_gradient.z[RnnCell::kReset]);
  }
}

// Adds the part of the gradient of h' that comes from products, and computes the gradient of x.
void RnnGradients::finish_sequence(int64_t t, int64_t n) {
  Squares ds;
  for (int64_t gate = 0; gate < state_gates_; ++gate)
    for (int64_t unit = 0; unit < hidden_; ++unit) ds.add(gradient(t, n, gate, unit));
  for (int64_t unit = 0; unit < hidden_; ++unit) {
    const size_t index = unit_index(n, unit);
    dh_[index] = dh_[index] + recurrent_sum(h_[index], state_gates_ * hidden_, ds);
  }
  if (dx_.empty()) return;
  ValueWithError* const dx = dx_.data() + (t * rnn_.batch + n) * rnn_.inputs;
  for (int64_t input = 0; input < rnn_.inputs; ++input) dx[input] = input_gradient(n, input);
}

void RnnGradients::set_gradient(int64_t t, int64_t n, int64_t gate, int64_t unit,
                                const ValueWithError& ds) {
  const size_t index = size_t(t) * sums_.size() + gate_index(n, gate, unit);
  ds_[index] = ds.value;
  ds_error_[index] = static_cast<float>(cell_.as_operand(ds).error);
}

ValueWithError RnnGradients::gradient(int64_t t, int64_t n, int64_t gate, int64_t unit) const {
  const size_t index = size_t(t) * sums_.size() + gate_index(n, gate, unit);
  return {ds_[index], ds_error_[index]};
}

ValueWithError RnnGradients::input_gradient(int64_t n, int64_t input) const {
  ValueWithError sum;
  if (rnn_.inputs > 1) {
    for (int64_t gate = 0; gate < gates_; ++gate)
      sum = sum + gradient_[unit_index(n, input)].z[gate];
    return sum;
  }
  Squares squares;
  for (int64_t gate = 0; gate < gates_; ++gate) {
    for (int64_t unit = 0; unit < hidden_; ++unit) {
      const ValueWithError dz = cell_.as_operand(gradient_[unit_index(n, unit)].z[gate]);
      const double wx = operands_.input_weight(gate, unit);
      sum.value += wx * dz.value;
      squares.add({wx * dz.value, wx * dz.error});
    }
  }
  return sum_of_products(sum.value, gates_ * hidden_, squares);
}

ValueWithError RnnGradients::weight_factor(int64_t gate, int64_t t, int64_t n, int64_t unit) const {
  const ValueWithError& h = state_before(t, n, unit).h;
  if (!cell_.is_gru_reset_before() || gate != RnnCell::kCandidate) return h;
  return cell_.reset_state(state_before(t + 1, n, unit).gate[RnnCell::kReset], h);
}

// Sums over all steps of all sequences. The squares of the gradients' errors are summed element by
// element, because at ReLU's kink a few of them can be as large as all others together.
void RnnGradients::add_gate_gradient(int64_t gate, std::vector<ValueWithError>& out) const {
  const int64_t total_steps = rnn_.timesteps * rnn_.batch;
  Matrix gradients(size_t(total_steps * hidden_)), factors(gradients), errors(gradients);
  std::vector<Squares> rows(static_cast<size_t>(hidden_)), columns(rows);
  parallel_for(hidden_, kMinUnitsPerPart, [&](int64_t begin, int64_t end, int) {
    for (int64_t index = 0; index < total_steps; ++index) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t t = index / rnn_.batch, n = index % rnn_.batch;
        const ValueWithError ds = gradient(t, n, gate, unit),
                             column_factor = weight_factor(gate, t, n, unit);
        gradients[size_t(unit * total_steps + index)] = ds.value;
        errors[size_t(unit * total_steps + index)] = ds.error * ds.error;
        factors[unit_index(index, unit)] = column_factor.value;
        rows[size_t(unit)].add(ds);
        columns[size_t(unit)].add(column_factor);
      }
    }
  });
  const Matrix sums = weight_sums(gradients, factors);
  for (double& factor : factors) factor *= factor;
  const Matrix squared_errors = weight_sums(errors, factors);
  for (int64_t i = 0; i < hidden_; ++i)
    for (int64_t j = 0; j < hidden_; ++j)
      out.push_back(weight_gradient(sums[unit_index(i, j)], squared_errors[unit_index(i, j)],
                                    rows[size_t(i)], columns[size_t(j)]));
}

RnnGradients::Matrix RnnGradients::weight_sums(const Matrix& gradients,
                                               const Matrix& factors) const {
  const int64_t total_steps = rnn_.timesteps * rnn_.batch;
  Matrix sums(size_t(hidden_ * hidden_));
  PackedPanels<double>(factors.data(), total_steps, hidden_, hidden_, 1)
      .add_product(hidden_, gradients.data(), total_steps, sums.data(), hidden_);
  return sums;
}

// Treats the remaining squares as if rows and columns were independent.
ValueWithError RnnGradients::weight_gradient(double sum, double squared_errors, const Squares& row,
                                             const Squares& column) const {
  const auto total_steps = double(rnn_.timesteps * rnn_.batch);
  const double squares = row.values * column.values / total_steps;
  return sum_of_products(sum, int64_t(total_steps),
                         {squares, squared_errors + row.values * column.errors / total_steps});
}

}  // namespace deepbench
