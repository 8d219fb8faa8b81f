// Computes the steps of a recurrent layer, forward and backward, in double.
#include "ops/rnn/composition.hpp"

#include <algorithm>

#include "deepbench/backend/per_device.hpp"
#include "libraries.hpp"
#include "ops/rnn/operand_kernels.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kStepThreads = 256;

struct ElementCounts {
  int64_t sequence, states, weights, biases, gates;  // in elements
  bool is_lstm, is_gru, is_backward;

  explicit ElementCounts(const Rnn& rnn)
      : sequence(rnn.sequence()),
        states(rnn.states()),
        weights(rnn.weights()),
        biases(rnn.biases() * rnn.hidden),
        gates(rnn.gates() * rnn.sequence()),
        is_lstm(rnn.cell == "lstm"),
        is_gru(rnn.cell == "gru"),
        is_backward(!rnn.is_forward()) {}
  int64_t h() const { return sequence + states; }
  int64_t c() const { return is_lstm ? h() : 0; }
  int64_t candidate_product() const { return is_gru ? sequence : 0; }
  int64_t dy() const { return is_backward ? sequence : 0; }
  int64_t dx() const { return is_backward ? sequence : 0; }
  int64_t dh() const { return is_backward ? states : 0; }
};

// Tolerances for a step's state: far larger than rounding errors, far smaller than the differences
// that another layer would cause.
constexpr double kRoundingsOfOne = 16, kActivations = 1.0 / (1 << 14);

Buffer double_buffer(int64_t count) { return Buffer(uint64_t(count) * sizeof(double)); }

// The handle is separate from that of timed products, whose settings differ.
nvidia::cublasHandle_t cublas_handle(const Stream& stream) {
  return plugin::get_or_create_per_device(stream, [&] {
    nvidia::cublasHandle_t made = nullptr;
    CUDA_CHECK(cublas().cublasCreate_v2(&made));
    CUDA_CHECK(cublas().cublasSetStream_v2(made, stream.get()));
    return made;
  });
}

}  // namespace

Composition::Composition(const Rnn& rnn, Inputs inputs, uint64_t seed, Stream& stream)
    : rnn_(rnn),
      inputs_(inputs),
      seed_(seed),
      stream_(stream),
      cell_(rnn.cell == "lstm"  ? CELL_LSTM
            : rnn.cell == "gru" ? CELL_GRU
                                : CELL_VANILLA),
      handle_(cublas_handle(stream)),
      forward_(function("rnn", "recurrent_forward", stream)),
      backward_(function("rnn", "recurrent_backward", stream)) {
  const ElementCounts count(rnn);
  x_ = double_buffer(count.sequence), u_ = double_buffer(count.weights),
  b_ = double_buffer(count.biases);
  dy_ = double_buffer(count.dy()), h_ = double_buffer(count.h()), c_ = double_buffer(count.c());
  gates_ = double_buffer(count.gates),
  candidate_product_ = double_buffer(count.candidate_product());
  dh_ = double_buffer(count.dh()), dc_ = double_buffer(count.dh()), dx_ = double_buffer(count.dx());
  output_ = double_buffer(rnn.outputs());
  fill(x_, Rnn::kStreamX, Rnn::kScale);
  fill(u_, Rnn::kStreamU, rnn.recurrent_scale());
  fill(b_, Rnn::kStreamB, Rnn::kScale);
  fill(dy_, Rnn::kStreamDy, Rnn::kScale);
  fill(h_, Rnn::kStreamH0, Rnn::kScale);
  fill(c_, Rnn::kStreamC0, Rnn::kScale);
  shape_.block_x = kStepThreads;
  shape_.grid_x = uint32_t((uint64_t(count.states) + kStepThreads - 1) / kStepThreads);
}

uint64_t Composition::needed_bytes(const Rnn& rnn) {
  const ElementCounts count(rnn);
  const int64_t parts[] = {count.sequence, count.weights, count.biases, count.dy(),
                           count.h(),      count.c(),     count.gates,  count.candidate_product(),
                           2 * count.dh(), count.dx(),    rnn.outputs()};
  uint64_t elements = 0;
  for (const int64_t part : parts) elements = saturating_add(elements, uint64_t(part));
  // Only one operand at a time is being widened to double.
  const int64_t largest = std::max(count.sequence, count.weights);
  const uint64_t bytes = saturating_add(saturating_multiply(elements, sizeof(double)),
                                        saturating_multiply(uint64_t(largest), sizeof(float)));
  return saturating_add(bytes, kComparisonBytes);
}

// Fills the buffer with the elements of a stream of fill.h; h and c receive only the initial state.
void Composition::fill(const Buffer& to, uint32_t stream_number, double scale) const {
  const bool is_state = stream_number == Rnn::kStreamH0 || stream_number == Rnn::kStreamC0;
  const uint64_t count = is_state ? uint64_t(rnn_.states()) : to.bytes() / sizeof(double);
  if (to.bytes() == 0) return;
  const Buffer narrow(count * uint64_t(size_of(rnn_.precision.a)));
  fill_scaled(narrow.data(), rnn_.precision.a, count, inputs_, seed_, stream_number, scale,
              stream_);
  widen(narrow.data(), rnn_.precision.a, count, at(to, 0), stream_);
}

void Composition::multiply(int64_t m, int64_t n, int64_t k, const Factor& a, const Factor& b,
                           double beta, double* c, int64_t leading) const {
  const double one = 1;
  const auto operation = [](bool transposed) {
    return transposed ? nvidia::CUBLAS_OP_T : nvidia::CUBLAS_OP_N;
  };
  CUDA_CHECK(cublas().cublasGemmEx(handle_, operation(a.transposed), operation(b.transposed),
                                   int(m), int(n), int(k), &one, a.data, nvidia::CUDA_R_64F,
                                   int(a.leading), b.data, nvidia::CUDA_R_64F, int(b.leading),
                                   &beta, c, nvidia::CUDA_R_64F, int(leading),
                                   nvidia::CUBLAS_COMPUTE_64F, nvidia::CUBLAS_GEMM_DEFAULT));
}

RecurrentStep Composition::recurrent_step(int64_t t) const {
  RecurrentStep step = {};
  step.batch = uint64_t(rnn_.batch), step.hidden = uint64_t(rnn_.hidden);
  step.b = at(b_, 0), step.x = states(x_, t);
  step.gates = gates(t);
  step.h_before = states(h_, t), step.h = states(h_, t + 1);
  if (c_.bytes()) step.c_before = states(c_, t), step.c = states(c_, t + 1);
  if (candidate_product_.bytes()) step.candidate_product = states(candidate_product_, t);
  return step;
}

// cuBLAS sees the row-major matrices as their transposes: s' = U h'.
void Composition::multiply_forward(int64_t t, int64_t steps) const {
  multiply(row(), steps * rnn_.batch, rnn_.hidden, {at(u_, 0), rnn_.hidden, true},
           {states(h_, t), rnn_.hidden, false}, 0, gates(t), row());
}

void Composition::forward() const {
  for (int64_t t = 0; t < rnn_.timesteps; ++t) {
    multiply_forward(t, 1);
    forward_.launch(shape_, stream_.get(), cell_, recurrent_step(t));
  }
}

void Composition::recompute_forward() const {
  multiply_forward(0, rnn_.timesteps);
  for (int64_t t = 0; t < rnn_.timesteps; ++t) {
    RecurrentStep repeated = recurrent_step(t);
    repeated.h = states(dx_, t);
    forward_.launch(shape_, stream_.get(), cell_, repeated);
  }
}

// If only rounding determines the sign of relu's argument, uses the slope that the library chose.
void Composition::match_relu_slopes(const void* input_gradients, double tolerance) const {
  widen(input_gradients, rnn_.precision.a, uint64_t(rnn_.sequence()), at(dx_, 0), stream_);
  const Function& match = function("rnn", "match_relu_slopes", stream_);
  for (int64_t t = 0; t < rnn_.timesteps; ++t)
    match.launch(shape_, stream_.get(), recurrent_step(t), states(dx_, t), tolerance);
}

deepbench_forward_states Composition::adopt_states(const ForwardState& pass) {
  has_adopted_states_ = false;
  if (rnn_.is_forward() || !pass.states) return DEEPBENCH_STATES_UNKNOWN;
  const auto count = uint64_t(rnn_.sequence());
  widen(pass.states, rnn_.precision.a, count, states(h_, 1), stream_);
  recompute_forward();
  const ForwardStateLimits limits(rnn_, kRoundingsOfOne, kActivations);
  const ForwardStateErrors errors =
      compare_states(states(h_, 1), at(dx_, 0), count, limits.per_state(), stream_);
  if (!errors.all_within_limit) return DEEPBENCH_STATES_UNKNOWN;
  has_adopted_states_ = limits.accept(errors);
  if (has_adopted_states_ && pass.input_gradients)
    match_relu_slopes(pass.input_gradients, limits.per_state());
  return has_adopted_states_ ? DEEPBENCH_STATES_ADOPTED : DEEPBENCH_STATES_WRONG;
}

void Composition::backward(int64_t t) const {
  const RecurrentGradient gradient = {states(dy_, t), at(dh_, 0), at(dc_, 0), states(dx_, t)};
  backward_.launch(shape_, stream_.get(), cell_, recurrent_step(t), gradient);
  multiply(rnn_.hidden, rnn_.batch, row(), {at(u_, 0), rnn_.hidden, false},
           {gates(t), row(), false}, 1, at(dh_, 0), rnn_.hidden);
}

void Composition::run() const {
  if (has_adopted_states_)
    recompute_forward();
  else
    forward();
  if (!rnn_.is_forward()) {
    for (const Buffer* zero : {&dh_, &dc_})
      CUDA_CHECK(cudart().cudaMemsetAsync(zero->data(), 0, zero->bytes(), stream_.get()));
    for (int64_t t = rnn_.timesteps; t-- > 0;) backward(t);
  }
  copy_outputs();
}

// Copies the outputs in their order. dU is one product over all steps.
void Composition::copy_outputs() const {
  double* to = output();
  const auto put = [&](const double* from, int64_t count) {
    copy_on_device(to, from, uint64_t(count) * sizeof(double), stream_);
    to += count;
  };
  if (rnn_.is_forward()) put(states(h_, 1), rnn_.sequence());
  if (rnn_.has_data_gradient()) {
    put(at(dx_, 0), rnn_.sequence());
    put(at(dh_, 0), rnn_.states());
  }
  if (rnn_.has_weight_gradient())
    multiply(rnn_.hidden, row(), rnn_.timesteps * rnn_.batch, {at(h_, 0), rnn_.hidden, false},
             {gates(0), row(), true}, 0, to, rnn_.hidden);
}

}  // namespace deepbench::cuda
