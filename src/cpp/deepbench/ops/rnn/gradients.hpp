// The gradients of a recurrent layer in float64, computed from the inputs alone: forward, then
// backward through time. Each value carries the standard deviation that a library's rounding may
// cause.
//
// Unlike bounds, deviations can be accumulated along a sequence. The pointwise part propagates them
// as in cell.hpp. A recurrent product adds them as the root of a sum of squares, because the
// weights are random and independent of the errors, and itself contributes sqrt(terms) / 2
// sum_roundoff sqrt(S^2 + s^2), where S is the root of the sum of its terms' squares. A bound is
// kDeviationsPerBound deviations.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "deepbench/ops/rnn/cell.hpp"
#include "deepbench/ops/rnn/operands.hpp"
#include "deepbench/ops/rnn/packed_panels.hpp"

namespace deepbench {

class RnnGradients {
 public:
  static constexpr double kDeviationsPerBound = 8;

  RnnGradients(const RnnOperands& operands, const KernelConditions& conditions);

  // Returns all outputs of the phase in the order of rnn.hpp.
  std::vector<ValueWithError> run();

 private:
  using Matrix = std::vector<double>;
  // The sums over a vector of the squares of its values and of its deviations.
  struct Squares {
    double values = 0, errors = 0;
    void add(const ValueWithError& a) { values += a.value * a.value, errors += a.error * a.error; }
  };

  // Packs U: the gates that read h', then gru_reset_before's candidate, which reads r h'.
  void pack_recurrent_weights();
  void add_forward_product(int64_t gate, const double* h);
  void set_backward_product(int64_t t, int64_t gate, std::vector<double>& sums);

  void set_initial_state();
  void forward_step(int64_t t);
  void forward_sequence(int64_t t, int64_t n);
  void compute_reset_gates(int64_t t, int64_t n);
  ValueWithError input_contribution(int64_t gate, int64_t unit, int64_t t, int64_t n) const;
  ValueWithError recurrent_sum_of_gate(int64_t gate, int64_t unit, int64_t n, const Squares& h,
                                       const Squares& reset) const;

  void backward_step(int64_t t);
  void backward_sequence(int64_t t, int64_t n);
  void backward_reset(int64_t t, int64_t n);
  void finish_sequence(int64_t t, int64_t n);
  void set_gradient(int64_t t, int64_t n, int64_t gate, int64_t unit, const ValueWithError& ds);
  ValueWithError gradient(int64_t t, int64_t n, int64_t gate, int64_t unit) const;
  ValueWithError input_gradient(int64_t n, int64_t input) const;

  // The factor that multiplies a gate's gradient in the gradient of U.
  ValueWithError weight_factor(int64_t gate, int64_t t, int64_t n, int64_t unit) const;
  void add_gate_gradient(int64_t gate, std::vector<ValueWithError>& out) const;
  Matrix weight_sums(const Matrix& gradients, const Matrix& factors) const;
  ValueWithError weight_gradient(double sum, double squared_errors, const Squares& row,
                                 const Squares& column) const;

  // A sum of `terms` products; `squares` holds the sums of the squares of the products and of their
  // deviations.
  ValueWithError sum_of_products(double sum, int64_t terms, const Squares& squares) const;
  // The product of a row of U and a vector with these squares.
  ValueWithError recurrent_sum(double sum, int64_t terms, const Squares& vector) const;

  void for_each_sequence(const std::function<void(int64_t)>& body) const;
  size_t unit_index(int64_t n, int64_t unit) const { return size_t(n * hidden_ + unit); }
  size_t gate_index(int64_t n, int64_t gate, int64_t unit) const {
    return size_t((n * gates_ + gate) * hidden_ + unit);
  }
  // state_before() is the state before step t; state_after() is the state after step t.
  const RnnCell::State& state_before(int64_t t, int64_t n, int64_t unit) const {
    return states_[size_t(t * rnn_.states()) + unit_index(n, unit)];
  }
  RnnCell::State& state_after(int64_t t, int64_t n, int64_t unit) {
    return states_[size_t((t + 1) * rnn_.states()) + unit_index(n, unit)];
  }

  const RnnOperands& operands_;
  const Rnn& rnn_;
  const int64_t gates_, hidden_;
  const RnnCell cell_;
  const int64_t state_gates_;   // number of gates whose product reads h' itself
  const double weight_square_;  // the mean square of U
  const std::vector<float> dy_;
  std::vector<PackedPanels<float>> forward_, backward_;
  std::vector<RnnCell::State> states_;  // [step][n][unit]; step 0 holds the initial states
  std::vector<double> h_, reset_;       // [n][unit] of one step: h' and r h', then their gradients
  std::vector<double> sums_;            // [n][gate][unit] of one step
  std::vector<double> ds_;              // [t][n][gate][unit]: the gradient of s
  std::vector<float> ds_error_;
  std::vector<RnnCell::Gradient> gradient_;  // [n][unit] of one step
  std::vector<ValueWithError> dh_, dc_;      // [n][unit], from the later step
  std::vector<ValueWithError> dx_;
};

}  // namespace deepbench
