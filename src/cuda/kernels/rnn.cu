// Kernels of recurrent layers: they compute, in double and directly from the formulas of
// ops/rnn/rnn.hpp, the pointwise part of a step and of its gradient for the library "reference".
#include "element.h"
#include "recurrence.h"

namespace {

__device__ uint64_t first_of_thread() { return blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; }
__device__ uint64_t all_threads() { return gridDim.x * uint64_t(blockDim.x); }

__device__ double sigmoid(double x) { return 1 / (1 + exp(-x)); }

// One unit of one sequence.
struct RecurrentUnit {
  const RecurrentStep& step;
  uint64_t n, i, gates;

  __device__ RecurrentUnit(const RecurrentStep& of, uint64_t number, uint64_t gate_count)
      : step(of), n(number / of.hidden), i(number % of.hidden), gates(gate_count) {}

  __device__ uint64_t index() const { return n * step.hidden + i; }
  __device__ double& gate(uint64_t g) const {
    return step.gates[(n * gates + g) * step.hidden + i];
  }
  __device__ double bias(uint64_t g) const { return step.b[g * step.hidden + i]; }
  __device__ double input(uint64_t g) const { return bias(g) + step.x[index()]; }
  __device__ double sum(uint64_t g) const { return input(g) + gate(g); }
};

__device__ void vanilla_forward(const RecurrentUnit& u) {
  const double sum = u.sum(0);
  u.step.h[u.index()] = sum < 0 ? 0 : sum;  // keeps what is not a number
}

__device__ void lstm_forward(const RecurrentUnit& u) {
  const double i = sigmoid(u.sum(0)), f = sigmoid(u.sum(1));
  const double candidate = tanh(u.sum(2)), o = sigmoid(u.sum(3));
  u.gate(0) = i, u.gate(1) = f, u.gate(2) = candidate, u.gate(3) = o;
  const double c = f * u.step.c_before[u.index()] + i * candidate;
  u.step.c[u.index()] = c;
  u.step.h[u.index()] = o * tanh(c);
}

__device__ void gru_forward(const RecurrentUnit& u) {
  const double update = sigmoid(u.sum(0)), reset = sigmoid(u.sum(1));
  const double inner = u.gate(2) + u.bias(3);
  const double candidate = tanh(u.input(2) + reset * inner);
  u.step.candidate_product[u.index()] = inner;
  u.gate(0) = update, u.gate(1) = reset, u.gate(2) = candidate;
  u.step.h[u.index()] = update * u.step.h_before[u.index()] + (1 - update) * candidate;
}

__device__ void vanilla_backward(const RecurrentUnit& u, const RecurrentGradient& g) {
  const uint64_t at = u.index();
  const double dz = u.step.h[at] > 0 ? g.dh[at] + g.dy[at] : 0;
  u.gate(0) = dz;
  g.dh[at] = 0;
  g.dx[at] = dz;
}

__device__ void lstm_backward(const RecurrentUnit& u, const RecurrentGradient& g) {
  const uint64_t at = u.index();
  const double i = u.gate(0), f = u.gate(1), candidate = u.gate(2), o = u.gate(3);
  const double dh = g.dh[at] + g.dy[at], tanh_c = tanh(u.step.c[at]);
  const double dc = g.dc[at] + dh * o * (1 - tanh_c * tanh_c);
  u.gate(0) = dc * candidate * i * (1 - i);
  u.gate(1) = dc * u.step.c_before[at] * f * (1 - f);
  u.gate(2) = dc * i * (1 - candidate * candidate);
  u.gate(3) = dh * tanh_c * o * (1 - o);
  g.dx[at] = u.gate(0) + u.gate(1) + u.gate(2) + u.gate(3);
  g.dh[at] = 0;
  g.dc[at] = dc * f;
}

__device__ void gru_backward(const RecurrentUnit& u, const RecurrentGradient& g) {
  const uint64_t at = u.index();
  const double update = u.gate(0), reset = u.gate(1), candidate = u.gate(2);
  const double dh = g.dh[at] + g.dy[at];
  const double d_update = dh * (u.step.h_before[at] - candidate) * update * (1 - update);
  const double d_candidate = dh * (1 - update) * (1 - candidate * candidate);
  const double d_reset = d_candidate * u.step.candidate_product[at] * reset * (1 - reset);
  u.gate(0) = d_update, u.gate(1) = d_reset, u.gate(2) = d_candidate * reset;
  g.dx[at] = d_update + d_reset + d_candidate;
  g.dh[at] = dh * update;
}

__device__ uint64_t gates_of(int32_t cell) {
  return cell == CELL_LSTM ? 4 : cell == CELL_GRU ? 3 : 1;
}

}  // namespace

extern "C" __global__ void widen_elements(const void* data, int32_t type, uint64_t count,
                                          double* to) {
  for (uint64_t i = first_of_thread(); i < count; i += all_threads())
    to[i] = value_at(data, type, i);
}

// For each block, counts the states whose error exceeds the tolerance and sums the squares of
// errors and of expected states.
extern "C" __global__ void compare_states(const double* stored, const double* expected,
                                          uint64_t count, double tolerance,
                                          RecurrentErrors* found) {
  double sums[3] = {0, 0, 0};
  for (uint64_t i = first_of_thread(); i < count; i += all_threads()) {
    const double error = fabs(stored[i] - expected[i]);
    sums[0] += error * error;
    sums[1] += expected[i] * expected[i];
    sums[2] += !(error <= tolerance);  // also counts a NaN
  }
  const uint32_t thread = thread_of_block();
  sum_over_block(sums, thread, OPERAND_THREADS, 1);
  if (thread == 0) found[blockIdx.x] = RecurrentErrors{sums[0], sums[1], uint64_t(sums[2])};
}

// Continues from the recurrent products. The slope of relu is ambiguous where a sum is zero up to
// rounding. If the library's gradient dz is nonzero for such a unit, the unit gets a tiny positive
// h, so that the reference uses the same slope.
extern "C" __global__ void match_relu_slopes(RecurrentStep step, const double* dz,
                                             double tolerance) {
  const uint64_t number = first_of_thread();
  if (number >= step.batch * step.hidden) return;
  const RecurrentUnit unit(step, number, 1);
  double& h = step.h[unit.index()];
  if (h == 0 && dz[unit.index()] != 0 && fabs(unit.sum(0)) <= tolerance) h = TINY_POSITIVE;
}

// Continues from the recurrent products.
extern "C" __global__ void recurrent_forward(int32_t cell, RecurrentStep step) {
  const uint64_t number = first_of_thread();
  if (number >= step.batch * step.hidden) return;
  const RecurrentUnit unit(step, number, gates_of(cell));
  if (cell == CELL_VANILLA) return vanilla_forward(unit);
  if (cell == CELL_LSTM) return lstm_forward(unit);
  gru_forward(unit);
}

// Computes the gradients up to the recurrent products.
extern "C" __global__ void recurrent_backward(int32_t cell, RecurrentStep step,
                                              RecurrentGradient gradient) {
  const uint64_t number = first_of_thread();
  if (number >= step.batch * step.hidden) return;
  const RecurrentUnit unit(step, number, gates_of(cell));
  if (cell == CELL_VANILLA) return vanilla_backward(unit, gradient);
  if (cell == CELL_LSTM) return lstm_backward(unit, gradient);
  gru_backward(unit, gradient);
}
