// The forward reference. Each checked step is computed in float64 from the preceding h that the
// library stored, so errors do not grow along a sequence and any step can be checked alone. lstm's
// c is not an output and is carried through the steps of a segment.
//
// Bound of one output: the error of s is random_error_of_sums(hidden) sqrt(S^2 + s^2), where S is
// the root of the sum of its products' squares. The pointwise part propagates this error
// (cell.hpp), and sigmoid and tanh add kActivationError. Storing h adds output_roundoff. int8 sums
// are exact: h must be the expected integer, or one of both neighbors where the value is close to
// a tie.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/sums.hpp"
#include "deepbench/ops/rnn/cell.hpp"
#include "deepbench/ops/rnn/gradient_parts.hpp"
#include "deepbench/ops/rnn/operands.hpp"
#include "deepbench/ops/rnn/reference.hpp"
#include "deepbench/ops/rnn/sampling.hpp"

namespace deepbench {
namespace {

class ForwardSegment {
 public:
  // `h` holds the state before each step of the segment.
  ForwardSegment(const RnnOperands& operands, const RnnCell& cell, const RnnSegment& segment,
                 std::vector<float> h)
      : operands_(operands),
        cell_(cell),
        rnn_(operands.rnn()),
        gates_(rnn_.gates()),
        segment_(segment),
        h_(std::move(h)) {
    steps_ = segment.end - segment.begin;
    row_.resize(size_t(rnn_.hidden));
    if (cell_.is_gru_reset_before()) reset_states();
  }

  // Writes the segment's part of the expected output, from index `point` on.
  void write_expected(ExpectedElements& expected, size_t point) {
    for (const int64_t unit : segment_.units) {
      for (int64_t gate = 0; gate < gates_; ++gate) compute_sums(gate, unit);
      RnnCell::State state = first_state(unit);
      for (int64_t step = 0; step < steps_; ++step) {
        state = next_state(unit, step, state);
        if (segment_.begin + step >= segment_.checked_from)
          set_expected(unit, step, state.h, expected, point++);
      }
    }
  }

 private:
  const float* h_before(int64_t step) const { return h_.data() + step * rnn_.hidden; }
  ValueWithError& recurrent_product(int64_t gate, int64_t step) {
    return s_[size_t(gate * steps_ + step)];
  }

  ValueWithError sum_with_error(const DotSums& sums) const {
    if (rnn_.is_quantized()) return quantized_sum(sums);
    const PrecisionInfo& precision = rnn_.precision;
    // The error by which matrix units truncate the short sum of a step is far below the roundoff of
    // storing h.
    const double roundoff = random_error_of_sums(double(rnn_.hidden), precision);
    const double size = std::sqrt(sums.squares + sums.products * sums.products);
    return {sums.products, roundoff * size + cell_.partial_error(size) +
                               4 * precision.input_roundoff * std::sqrt(sums.squares)};
  }

  // Libraries sum integers exactly, with h' shifted by 1 so that it is positive. They then subtract
  // the shift's part, the sum of the row, in float.
  ValueWithError quantized_sum(const DotSums& sums) const {
    const double terms = std::abs(sums.products) + std::abs(row_sum_);
    return {sums.products, 4 * kRoundoffFloat * terms};
  }

  void read_row(int64_t gate, int64_t unit) {
    operands_.generate_recurrent_row(gate, unit, row_.data());
    if (rnn_.is_quantized()) row_sum_ = std::accumulate(row_.begin(), row_.end(), 0.0);
  }

  // Computes the recurrent sums of one gate and unit at every step.
  void compute_sums(int64_t gate, int64_t unit) {
    s_.resize(size_t(gates_ * steps_));
    read_row(gate, unit);
    const bool of_reset = cell_.is_gru_reset_before() && gate == RnnCell::kCandidate;
    for (int64_t step = 0; step < steps_; ++step)
      recurrent_product(gate, step) =
          of_reset ? sum_of_reset(step)
                   : sum_with_error(dot_sums(row_.data(), h_before(step), rnn_.hidden));
  }

  // Computes r h' of all units, which the candidate's recurrent product reads.
  void reset_states() {
    const size_t count = size_t(steps_ * rnn_.hidden);
    reset_.resize(count), reset_square_.resize(size_t(steps_)), reset_error_ = reset_square_;
    for (int64_t unit = 0; unit < rnn_.hidden; ++unit) {
      read_row(RnnCell::kReset, unit);
      for (int64_t step = 0; step < steps_; ++step) {
        const ValueWithError s = sum_with_error(dot_sums(row_.data(), h_before(step), rnn_.hidden));
        const ValueWithError r =
            cell_.reset_gate(input_contribution(RnnCell::kReset, unit, step), s);
        const ValueWithError state = cell_.reset_state(r, {h_before(step)[unit], 0});
        reset_[size_t(step * rnn_.hidden + unit)] = state.value;
        reset_square_[size_t(step)] += state.value * state.value;
        reset_error_[size_t(step)] += state.error * state.error;
      }
    }
  }

  // Uses the squares of the products in a typical row. Errors of r add up at random.
  ValueWithError sum_of_reset(int64_t step) const {
    DotSums sums = weighted_sums(row_.data(), reset_.data() + step * rnn_.hidden, rnn_.hidden);
    const double mean_square = sums.squares / double(rnn_.hidden);
    sums.squares = mean_square * reset_square_[size_t(step)];
    ValueWithError result = sum_with_error(sums);
    result.error += 4 * std::sqrt(mean_square * reset_error_[size_t(step)]);
    return result;
  }

  ValueWithError input_contribution(int64_t gate, int64_t unit, int64_t step) const {
    const double product =
        operands_.input_product(gate, unit, segment_.begin + step, segment_.sequence);
    const double largest = 2;  // the terms may be larger than their sum
    return cell_.input_part(product, operands_.bias(gate, unit),
                            kRoundoffFloat * largest + rnn_.precision.input_roundoff);
  }

  // If the segment begins after step 0, c is only known to be bounded by the number of steps,
  // because |i tanh| < 1.
  RnnCell::State first_state(int64_t unit) const {
    RnnCell::State state;
    if (!cell_.is_lstm()) return state;
    if (segment_.begin == 0)
      state.saved = {operands_.element(Rnn::kStreamC0, segment_.sequence * rnn_.hidden + unit), 0};
    else
      state.saved = {0, double(segment_.begin) + Rnn::kScale};
    return state;
  }

  RnnCell::State next_state(int64_t unit, int64_t step, RnnCell::State previous) {
    previous.h = {h_before(step)[unit], 0};
    ValueWithError input[4], recurrent[4];
    for (int64_t gate = 0; gate < gates_; ++gate) {
      input[gate] = input_contribution(gate, unit, step);
      recurrent[gate] = recurrent_product(gate, step);
    }
    if (cell_.is_gru())
      recurrent[RnnCell::kCandidate] = cell_.stored_sum(recurrent[RnnCell::kCandidate]) +
                                       ValueWithError{operands_.bias(3, unit), 0};
    return cell_.step(input, recurrent, previous);
  }

  void set_expected(int64_t unit, int64_t step, const ValueWithError& h, ExpectedElements& expected,
                    size_t point) const {
    const int64_t sequence_step = (segment_.begin + step) * rnn_.batch + segment_.sequence;
    expected.indices[point] = uint64_t(sequence_step * rnn_.hidden + unit);
    const ValueWithError stored = cell_.stored_state(h);
    expected.values[point] = stored.value;
    expected.bounds[point] = stored.error;
  }

  const RnnOperands& operands_;
  const RnnCell& cell_;
  const Rnn& rnn_;
  const int64_t gates_;
  const RnnSegment& segment_;
  int64_t steps_;
  std::vector<float> h_, row_;
  double row_sum_ = 0;             // sum of the row of U; int8 only
  std::vector<ValueWithError> s_;  // [gate][step]
  // r h' as [step][unit], and sums over units for each step.
  std::vector<double> reset_, reset_square_, reset_error_;
};

// The library's h before each step of each segment.
class ForwardStates {
 public:
  ForwardStates(const RnnOperands& operands, const std::vector<RnnSegment>& segments,
                ComputedOutput& computed)
      : operands_(operands), rnn_(operands.rnn()) {
    std::vector<uint64_t> indices;
    for (const RnnSegment& segment : segments) {
      first_.push_back(indices.size());
      for (int64_t t = std::max<int64_t>(segment.begin, 1); t < segment.end; ++t)
        for (int64_t j = 0; j < rnn_.hidden; ++j)
          indices.push_back(uint64_t(((t - 1) * rnn_.batch + segment.sequence) * rnn_.hidden + j));
    }
    first_.push_back(indices.size());
    const std::vector<double> values = computed.elements(indices);
    values_.assign(values.begin(), values.end());
  }

  std::vector<float> states_before(const RnnSegment& segment, size_t number) const {
    std::vector<float> h;
    if (segment.begin == 0) {
      h.resize(size_t(rnn_.hidden));
      operands_.fill(Rnn::kStreamH0, segment.sequence * rnn_.hidden, rnn_.hidden, h.data());
    }
    h.insert(h.end(), values_.begin() + ptrdiff_t(first_[number]),
             values_.begin() + ptrdiff_t(first_[number + 1]));
    return h;
  }

 private:
  const RnnOperands& operands_;
  const Rnn& rnn_;
  std::vector<size_t> first_;
  std::vector<float> values_;
};

// Segments may overlap; each output counts once.
ExpectedElements without_repetitions(const ExpectedElements& all) {
  std::vector<size_t> order(all.indices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto index_of = [&](size_t i) { return all.indices[i]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return index_of(a) < index_of(b); });
  order.erase(std::unique(order.begin(), order.end(),
                          [&](size_t a, size_t b) { return index_of(a) == index_of(b); }),
              order.end());
  ExpectedElements once;
  once.resize(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    once.indices[i] = all.indices[order[i]];
    once.values[i] = all.values[order[i]];
    once.bounds[i] = all.bounds[order[i]];
  }
  return once;
}

}  // namespace

ExpectedOutput expected_forward_output(const Rnn& rnn, const KernelConditions& conditions) {
  const RnnOperands operands(rnn, conditions);
  const RnnCell cell(rnn, conditions, 1);
  const std::vector<RnnSegment> segments = choose_segments(rnn, conditions.verification_seed);
  const ForwardStates states(operands, segments, *conditions.computed_output);

  std::vector<size_t> first = {0};
  for (const RnnSegment& segment : segments)
    first.push_back(first.back() +
                    segment.units.size() * size_t(segment.end - segment.checked_from));
  ExpectedElements all;
  all.resize(first.back());
  parallel_tasks(int64_t(segments.size()), parallel_threads(), [&](int64_t i) {
    const RnnSegment& segment = segments[size_t(i)];
    ForwardSegment(operands, cell, segment, states.states_before(segment, size_t(i)))
        .write_expected(all, first[size_t(i)]);
  });
  ExpectedOutput expected;
  expected.outputs = static_cast<uint64_t>(rnn.outputs());
  ExpectedElements& elements = expected;
  elements = without_repetitions(all);
  expected.coverage = coverage_text(expected.indices.size(), rnn.outputs());
  if (!checks_all_outputs(rnn)) expected.coverage += ", each computed from the tested h(t-1)";
  return expected;
}

}  // namespace deepbench
