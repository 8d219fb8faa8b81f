// The call of the reference library: a recurrent layer and its gradients in float, step by step
// from matrix products and the pointwise code of reference_cells.hpp.
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

// The intermediate results of a layer, in float.
struct Intermediates {
  explicit Intermediates(const Rnn& rnn);
  static uint64_t needed_bytes(const Rnn& rnn);  // Includes U packed for both directions.

  static float* at(const Buffer& buffer, int64_t index) {
    return reinterpret_cast<float*>(buffer.data()) + index;
  }

  Buffer h, c;   // [t][n][unit], beginning with the initial state.
  Buffer gates;  // [t][n][gate][unit]; the backward pass overwrites them with the gradient of s.
  Buffer reset_term;      // [t][n][unit]
  Buffer dh, dc, dreset;  // [n][unit] of one step
  Buffer dx;              // [t][n]
};

class Composition final : public LibraryCall {
 public:
  Composition(ReferenceOperands& operands, int threads);

  void begin_batch() override;
  int run(uint64_t copy) override;
  deepbench_forward_states adopt_forward_states(const plugin::LibraryCall& tested) override;

 private:
  int64_t hidden() const { return rnn_.hidden; }
  int64_t row() const { return rnn_.gates() * rnn_.hidden; }  // All gates of a sequence.
  // The number of gates whose product reads h'.
  int64_t plain_gates() const { return cell_.forward_reset ? 2 : rnn_.gates(); }
  float* states(const Buffer& buffer, int64_t t) const {
    return Intermediates::at(buffer, t * rnn_.states());
  }
  float* gates(const Buffer& buffer, int64_t t, int64_t gate = 0) const {
    return Intermediates::at(buffer, t * rnn_.batch * row() + gate * hidden());
  }
  const float* operand(LayerPart part, int64_t index) const {
    return static_cast<const float*>(operands_.at(part, copy_)) + index;
  }
  // Packs U for each product: that of the gates that take h', and for gru_reset_before that of the
  // candidate.
  std::vector<PackedMatrix> pack_recurrent_weights(bool transposed) const;

  // The pointers to the operands and results of one step's pointwise part.
  CellStep cell_step(int64_t t, int64_t n) const;
  CellGradient cell_gradient(int64_t t, int64_t n) const;

  // All workers run these functions at the same time, each on its share of columns and sequences.
  void forward(int64_t t, size_t worker);
  void backward(int64_t t, size_t worker);
  void for_assigned_sequences(size_t worker, const std::function<void(int64_t)>& body);

  // Computes a forward pass whose h(t) are known, with all steps in one product.
  void copy_states(const void* from);
  void multiply_all(int64_t first, int64_t count, const float* from) const;
  ForwardStateErrors recompute_forward();
  ForwardStateErrors recompute_sequence(int64_t n) const;

  void copy_initial_states();
  void copy_results();
  void copy_operand_in(LayerPart part, const Buffer& to) const;
  void copy_result_out(const Buffer& from, int64_t first, LayerPart part) const;

  ReferenceOperands& operands_;
  const Rnn& rnn_;
  const ForwardStateLimits limits_;
  const Cell& cell_;
  const Intermediates intermediates_;
  const Buffer u_, wx_;
  const int threads_;
  std::vector<PackedMatrix> forward_, backward_;  // Packed at their first use.
  std::optional<WeightGradient> du_;
  Barrier barrier_;
  bool has_adopted_states_ = false;  // Whether h holds the states of the tested kernel.
  bool gates_are_current_ = false;   // Whether gates, c and reset_term belong to h.
  uint64_t copy_ = 0;
};

}  // namespace deepbench::cpu
