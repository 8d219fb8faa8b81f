// The reference's call: a recurrent layer and its gradients in float, step by step from products
// and the pointwise code of reference_cells.hpp.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "deepbench/ops/rnn/forward_state_check.hpp"
#include "ops/rnn/packed_matrix.hpp"
#include "ops/rnn/reference_cells.hpp"
#include "ops/rnn/reference_operands.hpp"
#include "prepared_kernel.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {

// What lies between the operands, in floats.
struct Intermediates {
  explicit Intermediates(const Rnn& rnn);
  static uint64_t needed_bytes(const Rnn& rnn);  // U packed for both directions included

  static float* at(const Buffer& buffer, int64_t index) {
    return reinterpret_cast<float*>(buffer.data()) + index;
  }

  Buffer h, c;            // [t][n][unit], the initial state first
  Buffer gates;           // [t][n][gate][unit]; backward leaves the gradient of s in their place
  Buffer reset_term;      // [t][n][unit]
  Buffer dh, dc, dreset;  // [n][unit] of one step
  Buffer dx;              // [t][n]
};

class Composition final : public LibraryCall {
 public:
  Composition(ReferenceOperands& operands, int threads);

  void begin_batch() override;
  int run(uint64_t copy) override;
  deepbench_following follow(const plugin::LibraryCall& other) override;
  void describe(plugin::Sink& sink) const override;

 private:
  // Matrices.
  int64_t hidden() const { return rnn_.hidden; }
  int64_t row() const { return rnn_.gates() * rnn_.hidden; }  // all gates of a sequence
  int64_t plain_gates() const { return cell_.forward_reset ? 2 : rnn_.gates(); }  // that take h'
  float* states(const Buffer& buffer, int64_t t) const {
    return Intermediates::at(buffer, t * rnn_.states());
  }
  float* gates(const Buffer& buffer, int64_t t, int64_t gate = 0) const {
    return Intermediates::at(buffer, t * rnn_.batch * row() + gate * hidden());
  }
  const float* operand(LayerPart part, int64_t index) const {
    return static_cast<const float*>(operands_.at(part, copy_)) + index;
  }
  // U's factors: of the gates that take h', then of gru_reset_before's candidate.
  std::vector<PackedMatrix> pack(bool transposed) const;

  // A step's pointwise part and what it is made of.
  CellStep step(int64_t t, int64_t n) const;
  CellGradient gradient(int64_t t, int64_t n) const;

  // All of these run on every worker at once, each with its share of columns and sequences.
  void forward(int64_t t, size_t worker);
  void backward(int64_t t, size_t worker);
  void for_assigned_sequences(size_t worker, const std::function<void(int64_t)>& body);

  // A forward pass whose h(t) are known: all steps at once.
  void copy_states(const void* from);
  void multiply_all(int64_t first, int64_t count, const float* from) const;
  ForwardStateErrors recompute_forward();
  ForwardStateErrors recompute_sequence(int64_t n) const;

  void start();
  void finish();
  void copy_in(LayerPart part, const Buffer& to) const;
  void copy_out(const Buffer& from, int64_t first, LayerPart part) const;

  ReferenceOperands& operands_;
  const Rnn& rnn_;
  const ForwardStateLimits limits_;
  const Cell& cell_;
  const Intermediates intermediates_;
  const Buffer u_, wx_;
  const int threads_;
  std::vector<PackedMatrix> forward_, backward_;  // made when first needed
  std::optional<WeightGradient> du_;
  Barrier barrier_;
  bool follows_ = false;            // h is that of the kernel that is followed
  bool gates_are_current_ = false;  // gates, c and reset_term are those of h
  uint64_t copy_ = 0;
};

}  // namespace deepbench::cpu
