// The forward and backward passes through time. All workers advance through the steps together and
// synchronize where one needs the result of another.
#include "ops/rnn/composition.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/rnn/product.hpp"

namespace deepbench::cpu {
namespace {

constexpr double kRoundingsOfOne = 8, kActivations = 1.0 / (1 << 18);

Buffer float_buffer(int64_t count) {
  return Buffer(uint64_t(count) * sizeof(float), PagePool::for_references());
}

void set_to_zero(const Buffer& buffer) { std::memset(buffer.data(), 0, buffer.size()); }

}  // namespace

Intermediates::Intermediates(const Rnn& rnn)
    : h(float_buffer((rnn.timesteps + 1) * rnn.states())),
      c(float_buffer(rnn.cell == "lstm" ? (rnn.timesteps + 1) * rnn.states() : 0)),
      gates(float_buffer(rnn.sequence() * rnn.gates())),
      reset_term(float_buffer(rnn.gates() == 3 ? rnn.sequence() : 0)),
      dh(float_buffer(rnn.states())),
      dc(float_buffer(rnn.states())),
      dreset(float_buffer(rnn.states())),
      dx(float_buffer(rnn.timesteps * rnn.batch)) {}

uint64_t Intermediates::needed_bytes(const Rnn& rnn) {
  const int64_t passes = rnn.is_forward() ? 1 : 2;
  const int64_t states = (rnn.timesteps + 1) * rnn.states();
  const int64_t states_and_gates = (rnn.gates() + 2) * states + 3 * rnn.states();
  // For the weights' gradient: rows and columns gathered for single elements, and the weighted sums
  // of its projection.
  const int64_t crossing = (2 * std::min<int64_t>(256, rnn.hidden) + 1 + rnn.hidden / 8);
  const int64_t compared = rnn.is_forward() ? 0 : crossing * rnn.timesteps * rnn.batch;
  return uint64_t(states_and_gates + compared) * sizeof(float) +
         uint64_t(passes) * PackedMatrix::needed_bytes(rnn.hidden, rnn.gates() * rnn.hidden);
}

Composition::Composition(ReferenceOperands& operands, int threads)
    : operands_(operands),
      rnn_(operands.rnn()),
      limits_(rnn_, kRoundingsOfOne, kActivations),
      cell_(cell_named(rnn_.cell)),
      intermediates_(rnn_),
      u_(operands.plain_u()),
      wx_(operands.plain_wx()),
      threads_(threads),
      barrier_(uint32_t(host_workers().size())) {}

void Composition::begin_batch() { use_product_threads(threads_); }

int Composition::run(uint64_t copy) {
  copy_ = copy;
  if (!has_adopted_states_) {
    copy_initial_states();
    if (forward_.empty()) forward_ = pack_recurrent_weights(true);
    host_workers().run([&](size_t worker) {
      for (int64_t t = 0; t < rnn_.timesteps; ++t) forward(t, worker);
    });
  } else if (!gates_are_current_) {
    recompute_forward();
  }
  gates_are_current_ = false;
  if (rnn_.is_forward()) {
    copy_result_out(intermediates_.h, rnn_.states(), LayerPart::kY);
    return 0;
  }
  set_to_zero(intermediates_.dh), set_to_zero(intermediates_.dc);
  if (backward_.empty()) backward_ = pack_recurrent_weights(false);
  host_workers().run([&](size_t worker) {
    for (int64_t t = rnn_.timesteps; t-- > 0;) backward(t, worker);
  });
  copy_results();
  return 0;
}

// ---- steps -------------------------------------------------------------------------------------

// Packs U for sums over j of U[row][j] (forward) or for sums over its rows (backward).
std::vector<PackedMatrix> Composition::pack_recurrent_weights(bool transposed) const {
  std::vector<PackedMatrix> packed;
  for (int64_t gate = 0; gate < rnn_.gates(); gate += plain_gates()) {
    const float* const u = Intermediates::at(u_, gate * hidden() * hidden());
    const int64_t rows = std::min(plain_gates(), rnn_.gates() - gate) * hidden();
    if (transposed)
      packed.emplace_back(u, hidden(), rows, 1, hidden());
    else
      packed.emplace_back(u, rows, hidden(), hidden(), 1);
  }
  return packed;
}

CellStep Composition::cell_step(int64_t t, int64_t n) const {
  CellStep s;
  s.hidden = hidden();
  for (int64_t gate = 0; gate < rnn_.gates(); ++gate) {
    s.gate[size_t(gate)] = gates(intermediates_.gates, t, gate) + n * row();
    s.wx[size_t(gate)] = Intermediates::at(wx_, gate * hidden());
  }
  for (int64_t gate = 0; gate < rnn_.biases(); ++gate)
    s.b[size_t(gate)] = operand(LayerPart::kBias, gate * hidden());
  s.x = *operand(LayerPart::kX, t * rnn_.batch + n);
  s.h_before = states(intermediates_.h, t) + n * hidden();
  s.h = states(intermediates_.h, t + 1) + n * hidden();
  if (rnn_.cell == "lstm") {
    s.c_before = states(intermediates_.c, t) + n * hidden();
    s.c = states(intermediates_.c, t + 1) + n * hidden();
  }
  if (rnn_.gates() == 3) s.reset_term = states(intermediates_.reset_term, t) + n * hidden();
  s.rounds_to_bfloat16 = rnn_.precision.a == DEEPBENCH_BF16;
  return s;
}

CellGradient Composition::cell_gradient(int64_t t, int64_t n) const {
  CellGradient g;
  g.dy = operand(LayerPart::kDy, t * rnn_.states() + n * hidden());
  g.dh = Intermediates::at(intermediates_.dh, n * hidden());
  g.dc = Intermediates::at(intermediates_.dc, n * hidden());
  g.dreset = Intermediates::at(intermediates_.dreset, n * hidden());
  // ds overwrites the gates; the backward step reads their values first.
  for (int64_t gate = 0; gate < rnn_.gates(); ++gate)
    g.ds[size_t(gate)] = gates(intermediates_.gates, t, gate) + n * row();
  g.dx = Intermediates::at(intermediates_.dx, t * rnn_.batch + n);
  return g;
}

void Composition::for_assigned_sequences(size_t worker, const std::function<void(int64_t)>& body) {
  const size_t workers = host_workers().size();
  const auto end = int64_t(part_begin(uint64_t(rnn_.batch), 1, worker + 1, workers));
  for (auto n = int64_t(part_begin(uint64_t(rnn_.batch), 1, worker, workers)); n < end; ++n)
    body(n);
}

void Composition::forward(int64_t t, size_t worker) {
  const auto multiply_assigned = [&](size_t group, int64_t gate, const float* from) {
    forward_[group].multiply(rnn_.batch, from, hidden(), gates(intermediates_.gates, t, gate),
                             row(), false, worker, host_workers().size());
    barrier_.wait();
  };
  multiply_assigned(0, 0, states(intermediates_.h, t));
  if (cell_.forward_reset) {
    for_assigned_sequences(worker, [&](int64_t n) { cell_.forward_reset(cell_step(t, n)); });
    barrier_.wait();
    multiply_assigned(1, plain_gates(), states(intermediates_.reset_term, t));
  }
  for_assigned_sequences(worker, [&](int64_t n) { cell_.forward(cell_step(t, n)); });
  barrier_.wait();
}

void Composition::backward(int64_t t, size_t worker) {
  const auto multiply_assigned = [&](size_t group, int64_t gate, const Buffer& to, bool adds) {
    backward_[group].multiply(rnn_.batch, gates(intermediates_.gates, t, gate), row(),
                              states(to, 0), hidden(), adds, worker, host_workers().size());
    barrier_.wait();
  };
  for_assigned_sequences(worker,
                         [&](int64_t n) { cell_.backward(cell_step(t, n), cell_gradient(t, n)); });
  barrier_.wait();
  if (cell_.backward_reset) {
    multiply_assigned(1, plain_gates(), intermediates_.dreset, false);
    for_assigned_sequences(
        worker, [&](int64_t n) { cell_.backward_reset(cell_step(t, n), cell_gradient(t, n)); });
    barrier_.wait();
  }
  multiply_assigned(0, 0, intermediates_.dh, true);
}

// ---- adopted states ----------------------------------------------------------------------------

// The states h(t) of the other kernel give the inputs of all gates in one product per group of
// gates. The computation also checks each state.
deepbench_forward_states Composition::adopt_forward_states(const plugin::LibraryCall& tested) {
  has_adopted_states_ = gates_are_current_ = false;
  const void* const other_states = rnn_.is_forward() ? nullptr : tested.forward_state().states;
  if (!other_states) return DEEPBENCH_STATES_UNKNOWN;
  begin_batch();
  copy_ = 0;
  copy_initial_states();
  copy_states(other_states);
  const ForwardStateErrors errors = recompute_forward();
  if (!errors.all_within_limit) return DEEPBENCH_STATES_UNKNOWN;
  if (!limits_.accept(errors)) return DEEPBENCH_STATES_WRONG;
  has_adopted_states_ = gates_are_current_ = true;
  return DEEPBENCH_STATES_ADOPTED;
}

void Composition::copy_states(const void* from) {
  float* const to = states(intermediates_.h, 1);
  const auto count = uint64_t(rnn_.sequence());
  const deepbench_type type = rnn_.precision.a;
  host_workers().parallel_for(count, 1 << 15, [&](uint64_t begin, uint64_t end, size_t) {
    for (uint64_t i = begin; i < end; ++i) to[i] = float(element(from, type, i));
  });
}

// Computes s of the gates [first, first + count) for all steps: `from` (h' or r h') times U
// transposed.
void Composition::multiply_all(int64_t first, int64_t count, const float* from) const {
  multiply(rnn_.timesteps * rnn_.batch, count * hidden(), hidden(), {from, hidden(), false},
           {Intermediates::at(u_, first * hidden() * hidden()), hidden(), true},
           gates(intermediates_.gates, 0, first), row(), false);
}

ForwardStateErrors Composition::recompute_forward() {
  multiply_all(0, plain_gates(), states(intermediates_.h, 0));
  if (cell_.forward_reset) {
    host_workers().run([&](size_t worker) {
      for_assigned_sequences(worker, [&](int64_t n) {
        for (int64_t t = 0; t < rnn_.timesteps; ++t) cell_.forward_reset(cell_step(t, n));
      });
    });
    multiply_all(plain_gates(), 1, states(intermediates_.reset_term, 0));
  }
  std::vector<ForwardStateErrors> of_sequence(size_t(rnn_.batch));
  host_workers().run([&](size_t worker) {
    for_assigned_sequences(worker,
                           [&](int64_t n) { of_sequence[size_t(n)] = recompute_sequence(n); });
  });
  ForwardStateErrors errors;
  for (const ForwardStateErrors& one : of_sequence) errors.add(one);
  return errors;
}

ForwardStateErrors Composition::recompute_sequence(int64_t n) const {
  const auto allowed = float(limits_.per_state());
  std::vector<float> recomputed(static_cast<size_t>(hidden()));
  ForwardStateErrors errors;
  for (int64_t t = 0; t < rnn_.timesteps; ++t) {
    CellStep s = cell_step(t, n);
    const float* const adopted = s.h;
    s.h = recomputed.data();
    cell_.forward(s);
    for (int64_t i = 0; i < hidden(); ++i) {
      const float error = std::fabs(adopted[i] - s.h[i]);
      errors.all_within_limit &= error <= allowed * (1 + std::fabs(s.h[i]));  // False for a NaN.
      errors.error += double(error) * error;
      errors.state += double(s.h[i]) * s.h[i];
    }
  }
  errors.count = rnn_.timesteps * hidden();
  return errors;
}

// ---- operands ----------------------------------------------------------------------------------

void Composition::copy_initial_states() {
  copy_operand_in(LayerPart::kH0, intermediates_.h);
  if (rnn_.cell == "lstm") copy_operand_in(LayerPart::kC0, intermediates_.c);
}

// With adopted states, verification reads only a part of dU, so that dU is
// computed on demand.
void Composition::copy_results() {
  if (rnn_.has_data_gradient()) {
    copy_result_out(intermediates_.dx, 0, LayerPart::kDx);
    copy_result_out(intermediates_.dh, 0, LayerPart::kDh0);
  }
  if (!rnn_.has_weight_gradient()) return;
  std::vector<GateGroup> groups = {{0, plain_gates(), states(intermediates_.h, 0)}};
  if (cell_.backward_reset)
    groups.push_back({plain_gates(), 1, states(intermediates_.reset_term, 0)});
  du_.emplace(rnn_, gates(intermediates_.gates, 0), std::move(groups));
  if (has_adopted_states_)
    operands_.defer_weight_gradient(*du_);
  else
    du_->complete(static_cast<float*>(operands_.at(LayerPart::kDu, copy_)));
}

void Composition::copy_operand_in(LayerPart part, const Buffer& to) const {
  std::memcpy(to.data(), operands_.at(part, copy_), operands_.storage().bytes(part));
}

void Composition::copy_result_out(const Buffer& from, int64_t first, LayerPart part) const {
  std::memcpy(operands_.at(part, copy_), Intermediates::at(from, first),
              operands_.storage().bytes(part));
}

}  // namespace deepbench::cpu
