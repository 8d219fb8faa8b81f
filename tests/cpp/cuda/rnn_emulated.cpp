// The pointwise kernels of recurrent layers, run by the host between plain products and compared
// with plain loops: every cell's steps and gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "../ops/naive_rnn.hpp"
#include "deepbench/core/precision.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"

// The build copies the kernel source to an include folder.
#include <rnn.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeedOfLayer = 5;
constexpr cuda::LaunchShape kFewThreads = {3, 1, 1, 32, 1, 1, 0};

Rnn training_layer(const std::string& cell, const std::string& phase) {
  Rnn rnn;
  rnn.cell = cell, rnn.phase = phase, rnn.mode = "training";
  rnn.hidden = 9, rnn.batch = 4, rnn.timesteps = 5, rnn.inputs = 9;
  rnn.precision = precision_info("float");
  return rnn;
}

// Like composition.cpp, with loops instead of cuBLAS.
class HostComposition {
 public:
  explicit HostComposition(const Rnn& rnn)
      : rnn_(rnn), naive_(rnn, kSeedOfLayer), row_(rnn.gates() * rnn.hidden) {
    const auto sequence = size_t(rnn.sequence()), states = size_t(rnn.states());
    h_ = naive_.h0, c_ = naive_.c0;
    h_.resize(states + sequence), c_.resize(states + sequence);
    gates_.resize(sequence * size_t(rnn.gates())), candidate_product_.resize(sequence);
    dh_.resize(states), dc_.resize(states), dx_.resize(sequence);
  }

  std::vector<double> run() {
    for (int64_t t = 0; t < rnn_.timesteps; ++t) forward(t);
    if (rnn_.is_forward()) return {h_.begin() + rnn_.states(), h_.end()};
    for (int64_t t = rnn_.timesteps; t-- > 0;) backward(t);
    std::vector<double> out = dx_;
    out.insert(out.end(), dh_.begin(), dh_.end());
    const std::vector<double> du = weights();
    out.insert(out.end(), du.begin(), du.end());
    return out;
  }

 private:
  int32_t cell() const {
    return rnn_.cell == "lstm" ? CELL_LSTM : rnn_.cell == "gru" ? CELL_GRU : CELL_VANILLA;
  }
  double* gates(int64_t t) { return gates_.data() + t * rnn_.batch * row_; }
  double* states(std::vector<double>& of, int64_t t) { return of.data() + t * rnn_.states(); }

  RecurrentStep step(int64_t t) {
    RecurrentStep step = {};
    step.batch = uint64_t(rnn_.batch), step.hidden = uint64_t(rnn_.hidden);
    step.b = naive_.b.data(), step.x = states(naive_.x, t), step.gates = gates(t);
    step.candidate_product = states(candidate_product_, t);
    step.h_before = states(h_, t), step.h = states(h_, t + 1);
    step.c_before = states(c_, t), step.c = states(c_, t + 1);
    return step;
  }

  void forward(int64_t t) {
    for (int64_t n = 0; n < rnn_.batch; ++n)
      for (int64_t r = 0; r < row_; ++r) {
        double sum = 0;
        for (int64_t j = 0; j < rnn_.hidden; ++j)
          sum += naive_.u[size_t(r * rnn_.hidden + j)] * states(h_, t)[n * rnn_.hidden + j];
        gates(t)[n * row_ + r] = sum;
      }
    const RecurrentStep now = step(t);
    emulate(kFewThreads, Barriers::kNone, [&] { recurrent_forward(cell(), now); });
  }

  void backward(int64_t t) {
    const RecurrentStep now = step(t);
    const RecurrentGradient gradient = {states(naive_.dy, t), dh_.data(), dc_.data(),
                                        states(dx_, t)};
    emulate(kFewThreads, Barriers::kNone, [&] { recurrent_backward(cell(), now, gradient); });
    for (int64_t n = 0; n < rnn_.batch; ++n)
      for (int64_t r = 0; r < row_; ++r)
        for (int64_t j = 0; j < rnn_.hidden; ++j)
          dh_[size_t(n * rnn_.hidden + j)] +=
              naive_.u[size_t(r * rnn_.hidden + j)] * gates(t)[n * row_ + r];
  }

  std::vector<double> weights() {
    std::vector<double> du(size_t(row_ * rnn_.hidden));
    for (int64_t row = 0; row < rnn_.timesteps * rnn_.batch; ++row)
      for (int64_t r = 0; r < row_; ++r)
        for (int64_t j = 0; j < rnn_.hidden; ++j)
          du[size_t(r * rnn_.hidden + j)] +=
              gates_[size_t(row * row_ + r)] * h_[size_t(row * rnn_.hidden + j)];
    return du;
  }

  Rnn rnn_;
  testing::NaiveRnn<double> naive_;
  int64_t row_;
  std::vector<double> h_, c_, gates_, candidate_product_, dh_, dc_, dx_;
};

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST_CASE("rnn kernels: steps and gradients match plain loops") {
  for (const std::string cell : {"vanilla", "lstm", "gru"})
    for (const std::string phase : {"fwd", "bwd"}) {
      CAPTURE(cell);
      CAPTURE(phase);
      const Rnn rnn = training_layer(cell, phase);
      testing::NaiveRnn<double> naive(rnn, kSeedOfLayer);
      const std::vector<double> expected = rnn.is_forward() ? naive.forward() : naive.backward();
      CHECK(largest_difference(HostComposition(rnn).run(), expected) < 1e-12);
    }
}

TEST_CASE("rnn kernels: operands are widened to double") {
  const std::vector<float> floats = {1, -0.75f, 0, 3e-6f};
  const std::vector<uint16_t> halves = {deepbench_to_half(0.5f), deepbench_to_half(-3)};
  std::vector<double> wide(4);
  emulate(kFewThreads, Barriers::kNone,
          [&] { widen_elements(floats.data(), DEEPBENCH_F32, 4, wide.data()); });
  CHECK(wide == std::vector<double>(floats.begin(), floats.end()));
  emulate(kFewThreads, Barriers::kNone,
          [&] { widen_elements(halves.data(), DEEPBENCH_F16, 2, wide.data()); });
  CHECK(wide[0] == 0.5);
  CHECK(wide[1] == -3);
}

TEST_CASE("rnn kernels: stored states are compared with expected ones") {
  constexpr size_t kStates = 3000;
  std::vector<double> expected(kStates), stored(kStates);
  double error = 0, state = 0;
  for (size_t i = 0; i < kStates; ++i) {
    expected[i] = deepbench_uniform(1, 2, i);
    stored[i] = expected[i] + 0.001 * deepbench_uniform(3, 4, i);
    error += (stored[i] - expected[i]) * (stored[i] - expected[i]);
    state += expected[i] * expected[i];
  }
  const cuda::LaunchShape shape = {3, 1, 1, OPERAND_THREADS, 1, 1, 0};
  const auto compared = [&] {
    RecurrentErrors found[3] = {}, all = {};
    emulate(shape, Barriers::kUsed,
            [&] { compare_states(stored.data(), expected.data(), kStates, 0.001, found); });
    for (const RecurrentErrors& block : found)
      all.error += block.error, all.state += block.state, all.outliers += block.outliers;
    return all;
  };
  const RecurrentErrors good = compared();
  CHECK(good.error == doctest::Approx(error));
  CHECK(good.state == doctest::Approx(state));
  CHECK(good.outliers == 0);
  stored[7] += 0.01, stored[2999] = std::nan("");
  CHECK(compared().outliers == 2);
}

TEST_CASE("rnn kernels: units with a zero sum get the library's slope") {
  // The sum of the unit, h as the library stored it, its gradient, and whether h must be
  // positive afterwards.
  struct ReluKinkCase {
    double z, h, dz;
    bool positive;
  };
  const std::vector<ReluKinkCase> units = {
      {0.0001, 0, 2, true}, {-0.0001, 0, -2, true}, {0, 0, 1, true},    {0.0001, 0, 0, false},
      {-0.1, 0, 2, false},  {0.1, 0, 2, false},     {0.5, 0.5, 0, true}};
  std::vector<double> z, h, dz, b(units.size(), 0.25), x(units.size(), -0.5);
  for (const ReluKinkCase& unit : units)
    z.push_back(unit.z + 0.25), h.push_back(unit.h), dz.push_back(unit.dz);
  RecurrentStep step = {};
  step.batch = 1, step.hidden = units.size();
  step.b = b.data(), step.x = x.data(), step.gates = z.data(), step.h = h.data();
  emulate(kFewThreads, Barriers::kNone, [&] { match_relu_slopes(step, dz.data(), 0.001); });
  for (size_t i = 0; i < units.size(); ++i) {
    CAPTURE(i);
    CHECK((h[i] > 0) == units[i].positive);
    CHECK(h[i] + 1 == units[i].h + 1);
  }
}

}  // namespace
}  // namespace deepbench::cuda_test
