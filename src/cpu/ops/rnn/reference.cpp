// The library "reference": a recurrent layer and its gradients in float, composed from matrix
// products and pointwise code that knows no library. Verification of large gradients asks for it;
// nobody else does, so that it need not be fast, only no slower than a few calls of a library.
#include <cstring>
#include <functional>
#include <string>

#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "kernel.hpp"
#include "operand_store.hpp"
#include "ops/rnn/operands.hpp"
#include "ops/rnn/product.hpp"
#include "ops/rnn/reference_cells.hpp"
#include "topology.hpp"
#include "workers.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kOnlyCandidate = "composition";
constexpr int64_t kRowsWorthWaking = 4096;  // elements of a step below which workers stay asleep

LayerStorage reference_storage(const Rnn& rnn) {
  LayerStorage storage;
  storage.rnn = rnn;
  storage.du = plain_strides(rnn);
  storage.weight_bytes = uint64_t(rnn.weights() + rnn.gates() * rnn.hidden) * sizeof(float);
  return storage;
}

// What lies between the operands, in floats.
class Between {
 public:
  explicit Between(const Rnn& rnn)
      : h(floats((rnn.timesteps + 1) * rnn.states())),
        c(floats(rnn.cell == "lstm" ? (rnn.timesteps + 1) * rnn.states() : 0)),
        gates(floats(rnn.sequence() * rnn.gates())),
        ds(floats(rnn.is_forward() ? 0 : rnn.sequence() * rnn.gates())),
        aside(floats(rnn.sequence())),
        dh(floats(rnn.states())),
        dc(floats(rnn.states())),
        dreset(floats(rnn.states())),
        dx(floats(rnn.timesteps * rnn.batch)) {}

  static uint64_t needed_bytes(const Rnn& rnn) {
    const int64_t gates = rnn.gates() * (rnn.is_forward() ? 1 : 2);
    const int64_t states = (rnn.timesteps + 1) * rnn.states();
    return uint64_t((gates + 3) * states + 3 * rnn.states()) * sizeof(float);
  }

  static float* at(const Buffer& buffer, int64_t index) {
    return reinterpret_cast<float*>(buffer.data()) + index;
  }

  Buffer h, c;            // [t][n][unit], the initial state first
  Buffer gates, ds;       // [t][n][gate][unit]
  Buffer aside;           // [t][n][unit]
  Buffer dh, dc, dreset;  // [n][unit] of one step
  Buffer dx;              // [t][n]

 private:
  static Buffer floats(int64_t count) { return Buffer(uint64_t(count) * sizeof(float)); }
};

class Composition final : public LibraryCall {
 public:
  Composition(const LayerOperands& operands, int threads)
      : operands_(operands),
        rnn_(operands.rnn()),
        cell_(cell_named(rnn_.cell)),
        between_(rnn_),
        u_(operands.plain_u()),
        wx_(operands.plain_wx()),
        threads_(threads) {}

  void enter() override { use_product_threads(threads_); }

  int run(uint64_t copy) override {
    copy_ = copy;
    copy_in(LayerPart::kH0, between_.h);
    if (rnn_.cell == "lstm") copy_in(LayerPart::kC0, between_.c);
    for (int64_t t = 0; t < rnn_.timesteps; ++t) forward(t);
    if (rnn_.is_forward()) {
      copy_out(between_.h, rnn_.states(), LayerPart::kY);
    } else {
      clear(between_.dh), clear(between_.dc);
      for (int64_t t = rnn_.timesteps; t-- > 0;) backward(t);
      finish();
    }
    return 0;
  }

  void describe(plugin::Sink& sink) const override {
    sink.text("library", "reference");
    sink.text("algorithm", kOnlyCandidate);
    sink.integer("workspace_bytes", int64_t(Between::needed_bytes(rnn_)));
  }

 private:
  // ---- matrices --------------------------------------------------------------------------------

  int64_t hidden() const { return rnn_.hidden; }
  int64_t row() const { return rnn_.gates() * rnn_.hidden; }  // all gates of a sequence
  float* states(const Buffer& buffer, int64_t t) const {
    return Between::at(buffer, t * rnn_.states());
  }
  float* gates(const Buffer& buffer, int64_t t, int64_t gate = 0) const {
    return Between::at(buffer, t * rnn_.batch * row() + gate * hidden());
  }
  const float* u(int64_t gate) const { return Between::at(u_, gate * hidden() * hidden()); }
  const float* operand(LayerPart part, int64_t index) const {
    return static_cast<const float*>(operands_.at(part, copy_)) + index;
  }

  // s of gates [first, first + count) = from (h') times their U, transposed.
  void multiply_forward(int64_t t, int64_t first, int64_t count, const float* from) const {
    multiply(rnn_.batch, count * hidden(), hidden(), {from, hidden(), false},
             {u(first), hidden(), true}, gates(between_.gates, t, first), row(), false);
  }
  // The way back.
  void multiply_backward(int64_t t, int64_t first, int64_t count, float* to, bool adds) const {
    multiply(rnn_.batch, hidden(), count * hidden(), {gates(between_.ds, t, first), row(), false},
             {u(first), hidden(), false}, to, hidden(), adds);
  }
  // The gradient of U of these gates, from all steps at once.
  void multiply_weights(int64_t first, int64_t count, const float* states_before) const {
    float* const du = static_cast<float*>(operands_.at(LayerPart::kDu, copy_));
    multiply(count * hidden(), hidden(), rnn_.timesteps * rnn_.batch,
             {gates(between_.ds, 0, first), row(), true}, {states_before, hidden(), false},
             du + first * hidden() * hidden(), hidden(), false);
  }

  // ---- steps -----------------------------------------------------------------------------------

  CellStep step(int64_t t, int64_t n) const {
    CellStep s;
    s.hidden = hidden();
    for (int64_t gate = 0; gate < rnn_.gates(); ++gate) {
      s.gate[size_t(gate)] = gates(between_.gates, t, gate) + n * row();
      s.wx[size_t(gate)] = Between::at(wx_, gate * hidden());
    }
    for (int64_t gate = 0; gate < rnn_.biases(); ++gate)
      s.b[size_t(gate)] = operand(LayerPart::kBias, gate * hidden());
    s.x = *operand(LayerPart::kX, t * rnn_.batch + n);
    s.h_before = states(between_.h, t) + n * hidden();
    s.h = states(between_.h, t + 1) + n * hidden();
    if (rnn_.cell == "lstm") {
      s.c_before = states(between_.c, t) + n * hidden();
      s.c = states(between_.c, t + 1) + n * hidden();
    }
    s.aside = states(between_.aside, t) + n * hidden();
    s.to_bfloat16 = rnn_.precision.a == DEEPBENCH_BF16;
    return s;
  }

  CellGradient gradient(int64_t t, int64_t n) const {
    CellGradient g;
    g.dy = operand(LayerPart::kDy, t * rnn_.states() + n * hidden());
    g.dh = Between::at(between_.dh, n * hidden());
    g.dc = Between::at(between_.dc, n * hidden());
    g.dreset = Between::at(between_.dreset, n * hidden());
    for (int64_t gate = 0; gate < rnn_.gates(); ++gate)
      g.ds[size_t(gate)] = gates(between_.ds, t, gate) + n * row();
    g.dx = Between::at(between_.dx, t * rnn_.batch + n);
    return g;
  }

  void for_sequences(const std::function<void(int64_t)>& body) const {
    const auto grain = uint64_t(1 + kRowsWorthWaking / hidden());
    host_workers().for_parts(uint64_t(rnn_.batch), grain,
                             [&](uint64_t begin, uint64_t end, size_t) {
                               for (auto n = int64_t(begin); n < int64_t(end); ++n) body(n);
                             });
  }

  void forward(int64_t t) const {
    if (!cell_.forward_reset) {
      multiply_forward(t, 0, rnn_.gates(), states(between_.h, t));
    } else {
      multiply_forward(t, 0, 2, states(between_.h, t));
      for_sequences([&](int64_t n) { cell_.forward_reset(step(t, n)); });
      multiply_forward(t, 2, 1, states(between_.aside, t));
    }
    for_sequences([&](int64_t n) { cell_.forward(step(t, n)); });
  }

  void backward(int64_t t) const {
    float* const dh = states(between_.dh, 0);
    for_sequences([&](int64_t n) { cell_.backward(step(t, n), gradient(t, n)); });
    if (!cell_.backward_reset) return multiply_backward(t, 0, rnn_.gates(), dh, true);
    multiply_backward(t, 2, 1, states(between_.dreset, 0), false);
    for_sequences([&](int64_t n) { cell_.backward_reset(step(t, n), gradient(t, n)); });
    multiply_backward(t, 0, 2, dh, true);
  }

  void finish() const {
    if (rnn_.has_data_gradient()) {
      copy_out(between_.dx, 0, LayerPart::kDx);
      copy_out(between_.dh, 0, LayerPart::kDh0);
    }
    if (!rnn_.has_weight_gradient()) return;
    const bool resets = cell_.backward_reset != nullptr;
    multiply_weights(0, resets ? 2 : rnn_.gates(), states(between_.h, 0));
    if (resets) multiply_weights(2, 1, states(between_.aside, 0));
  }

  void copy_in(LayerPart part, const Buffer& to) const {
    std::memcpy(to.data(), operands_.at(part, copy_), operands_.storage().bytes(part));
  }
  void copy_out(const Buffer& from, int64_t first, LayerPart part) const {
    std::memcpy(operands_.at(part, copy_), Between::at(from, first),
                operands_.storage().bytes(part));
  }
  static void clear(const Buffer& buffer) { std::memset(buffer.data(), 0, buffer.size()); }

  const LayerOperands& operands_;
  const Rnn& rnn_;
  const Cell& cell_;
  const Between between_;
  const Buffer u_, wx_;
  const int threads_;
  uint64_t copy_ = 0;
};

class ReferenceRnn final : public Implementation {
 public:
  LibraryFacts library() override { return {"1", "", ""}; }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    const Rnn rnn = rnn_problem(problem);
    cell_named(rnn.cell);
    if (rnn.precision.a != DEEPBENCH_F32 && rnn.precision.a != DEEPBENCH_BF16)
      plugin::unsupported("the reference computes in float and bfloat16, not in " +
                          std::string(rnn.precision.name));
    if (rnn.precision.precision == Precision::kTf32)
      plugin::unsupported("the reference does not know tf32");
    if (!options.candidate.empty() && options.candidate != kOnlyCandidate)
      unknown_candidate("reference", options.candidate);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    supports(problem, options);
    const LayerStorage storage = reference_storage(rnn_problem(problem));
    return saturating_add(storage.needed_bytes(plan_copies(storage.touched_bytes(), options)),
                          Between::needed_bytes(storage.rnn));
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    supports(problem, options);
    return {kOnlyCandidate};
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    require_memory_for_operands(memory_needed(problem, options));
    const LayerStorage storage = reference_storage(rnn_problem(problem));
    const CopyPlan copies = plan_copies(storage.touched_bytes(), options);
    const int threads = thread_count(options.threads);
    auto operands = std::make_unique<LayerOperands>(storage, copies, inputs_named(options.inputs),
                                                    options.seed);
    auto call = std::make_unique<Composition>(*operands, threads);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies, threads);
  }
};

}  // namespace

Implementation& reference_rnn() {
  static auto* implementation = new ReferenceRnn();
  return *implementation;
}

}  // namespace deepbench::cpu
