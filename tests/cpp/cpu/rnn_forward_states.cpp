// The reference of rnn's gradients when it starts from the states of the kernel under test: which
// kernels it follows, which it reports as astray, the side of ReLU's kink, and the detection of
// wrong kernels by verification.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../ops/naive_rnn.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/run/row/verify.hpp"
#include "harness.hpp"
#include "ops/rnn/composition.hpp"
#include "topology.hpp"

namespace deepbench::cpu_test {
namespace {

constexpr const char* kCells[] = {"vanilla", "lstm", "gru", "gru_reset_before"};

std::string layer_text(const std::string& cell, const std::string& phase = "bwd",
                       const std::string& sizes = "hidden=32 batch=4 timesteps=8") {
  return "cell=" + cell + " " + sizes + " phase=" + phase + " mode=training precision=float";
}

Rnn training_layer(const std::string& cell, int64_t hidden, int64_t batch, int64_t timesteps) {
  Rnn rnn;
  rnn.cell = cell, rnn.phase = "bwd", rnn.mode = "training";
  rnn.hidden = hidden, rnn.batch = batch, rnn.timesteps = timesteps;
  rnn.precision = precision_info("float");
  return rnn;
}

bool is_onednn_installed() {
  return plan_status("rnn", layer_text("gru"), "library=onednn").status == DEEPBENCH_OK;
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

std::vector<double> weighted_sums(const std::vector<double>& values, uint64_t rows, uint64_t seed) {
  std::vector<double> sums(rows);
  for (uint64_t i = 0; i < values.size(); ++i)
    sums[i % rows] += values[i] * deepbench_weight(seed, i / rows);
  return sums;
}

TEST_CASE(
    "rnn: a reference with adopted states gives the same gradients in every order of requests") {
  if (!is_onednn_installed()) return;
  for (const std::string cell : kCells) {
    CAPTURE(cell);
    const Rnn rnn = training_layer(cell, 32, 4, 8);
    const auto outputs = uint64_t(rnn.outputs());
    const Kernel tested("rnn", layer_text(cell), "library=onednn seed=5");
    Kernel reference("rnn", layer_text(cell), "library=reference seed=5");
    CHECK(reference.adopt_forward_states_of(tested) == DEEPBENCH_STATES_ADOPTED);
    reference.run(1);

    const std::vector<double> exact = testing::NaiveRnn<double>(rnn, 5).backward();
    const auto du = uint64_t(rnn.outputs() - rnn.du_elements());
    std::vector<uint64_t> crossings;
    for (const uint64_t row : {0, 7, 31})
      for (const uint64_t column : {3, 5}) crossings.push_back(du + row * 32 + column);
    const std::vector<double> some = reference.read(crossings);
    for (size_t i = 0; i < some.size(); ++i) CHECK(std::abs(some[i] - exact[crossings[i]]) < 1e-5);
    CHECK(largest_difference(reference.project(32, 9), weighted_sums(exact, 32, 9)) < 1e-3);

    CHECK(largest_difference(reference.read(outputs), exact) < 1e-5);  // Computes all of dU.
    CHECK(reference.scan().untouched == 0);
    CHECK(largest_difference(reference.project(32, 9), weighted_sums(exact, 32, 9)) < 1e-3);
    const std::vector<double> first = reference.read(outputs);
    reference.poison();
    CHECK(reference.scan().untouched == outputs);
    reference.run(2);
    CHECK(reference.scan().untouched == 0);
    CHECK(reference.read(outputs) == first);
  }
}

TEST_CASE("rnn: a reference does not adopt the states of another problem") {
  if (!is_onednn_installed()) return;
  for (const std::string cell : kCells) {
    CAPTURE(cell);
    const std::vector<double> exact =
        testing::NaiveRnn<double>(training_layer(cell, 32, 4, 8), 5).backward();
    const Kernel other_seed("rnn", layer_text(cell), "library=onednn seed=6");
    const Kernel forward("rnn", layer_text(cell, "fwd"), "library=onednn seed=5");
    const Kernel another("rnn", layer_text(cell), "library=reference seed=5");
    for (const Kernel* other : {&other_seed, &forward, &another}) {
      Kernel reference("rnn", layer_text(cell), "library=reference seed=5");
      CHECK(reference.adopt_forward_states_of(*other) == DEEPBENCH_STATES_UNKNOWN);
      reference.run(1);
      CHECK(largest_difference(reference.read(exact.size()), exact) < 1e-5);
    }
    Kernel reference("rnn", layer_text(cell, "fwd"), "library=reference seed=5");
    CHECK(reference.adopt_forward_states_of(forward) == DEEPBENCH_STATES_UNKNOWN);
  }
}

// A call that returns given states as those of its forward pass, in the storage of the precision.
class FixedStatesCall final : public cpu::LibraryCall {
 public:
  FixedStatesCall(const Rnn& rnn, const std::vector<float>& states)
      : bytes_(states.size() * size_t(size_of(rnn.precision.a))) {
    for (size_t i = 0; i < states.size(); ++i) {
      const uint16_t narrow = deepbench_to_bfloat16(states[i]);
      if (rnn.precision.a == DEEPBENCH_BF16)
        std::memcpy(&bytes_[2 * i], &narrow, 2);
      else
        std::memcpy(&bytes_[4 * i], &states[i], 4);
    }
  }
  int run(uint64_t) override { return 0; }
  void describe(plugin::Sink&) const override {}
  cpu::ForwardState forward_state() const override { return {bytes_.data(), nullptr}; }

 private:
  std::vector<char> bytes_;
};

cpu::LayerStorage plain_storage(const Rnn& rnn) {
  cpu::LayerStorage storage;
  storage.rnn = rnn;
  storage.du = cpu::plain_strides(rnn);
  return storage;
}

// Returns dx after a forward pass with these states.
std::vector<float> dx_from_states(const Rnn& rnn, const std::vector<float>& states,
                                  deepbench_forward_states& how) {
  cpu::ReferenceOperands operands(plain_storage(rnn), cpu::CopyPlan(), cpu::Inputs::kUniform, 1);
  cpu::Composition reference(operands, 1);
  how = reference.adopt_forward_states(FixedStatesCall(rnn, states));
  reference.begin_batch();
  CHECK(reference.run(0) == 0);
  const auto* const dx = static_cast<const float*>(operands.at(cpu::LayerPart::kDx, 0));
  return {dx, dx + rnn.dx_elements()};
}

TEST_CASE("rnn: a reference with adopted states is on the same side of ReLU's kink") {
  const Rnn rnn = training_layer("vanilla", 8, 64, 1000);
  std::vector<float> states = testing::NaiveRnn<float>(rnn).forward();
  size_t nearest = 0;  // The unit with the smallest positive state.
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i] > 0 && (states[nearest] == 0 || states[i] < states[nearest])) nearest = i;
  CAPTURE(states[nearest]);
  deepbench_forward_states how = DEEPBENCH_STATES_UNKNOWN;
  const std::vector<float> above = dx_from_states(rnn, states, how);
  CHECK(how == DEEPBENCH_STATES_ADOPTED);
  states[nearest] = 0;
  const std::vector<float> below = dx_from_states(rnn, states, how);
  CHECK(how == DEEPBENCH_STATES_ADOPTED);
  CHECK(std::abs(above[nearest / 8] - below[nearest / 8]) > 1e-3f);
  // Another sequence is unaffected.
  CHECK(std::abs(above[nearest / 8 + 1] - below[nearest / 8 + 1]) < 1e-5f);
  for (const float far : {0.01f, std::nanf("")}) {
    states[nearest] = far;
    dx_from_states(rnn, states, how);
    CHECK(how == DEEPBENCH_STATES_UNKNOWN);
  }
}

// Multiplies every h(t) by a factor that is invisible in any single h(t).
TEST_CASE("rnn: a forward pass with a small error everywhere is reported as wrong") {
  for (const std::string cell : kCells)
    for (const std::string precision : {"float", "bfloat16"}) {
      CAPTURE(cell);
      CAPTURE(precision);
      Rnn rnn = training_layer(cell, 16, 4, 60);
      rnn.precision = precision_info(precision);
      const bool is_narrow = precision == "bfloat16";
      const auto how = [&](float gain) {
        testing::NaiveRnn<float> naive(rnn);
        naive.narrow = naive.narrow_sums = is_narrow;
        naive.gain = gain;
        deepbench_forward_states answer = DEEPBENCH_STATES_UNKNOWN;
        dx_from_states(rnn, naive.forward(), answer);
        return answer;
      };
      CHECK(how(1) == DEEPBENCH_STATES_ADOPTED);
      CHECK(how(is_narrow ? 1.005f : 1.000001f) == DEEPBENCH_STATES_ADOPTED);
      if (is_narrow) CHECK(how(1.02f) == DEEPBENCH_STATES_WRONG);
      if (is_narrow) CHECK(how(0.98f) == DEEPBENCH_STATES_WRONG);
      if (!is_narrow) CHECK(how(1.00002f) != DEEPBENCH_STATES_ADOPTED);
      CHECK(how(0.5f) == DEEPBENCH_STATES_UNKNOWN);
    }
}

// A problem with more than 2^29 multiplications.
Problem large_gradients(const std::string& cell) {
  const std::string timesteps = cell == "vanilla" ? "65" : "22";
  const Problem problem = Problem::parse(
      "rnn " + layer_text(cell, "bwd", "hidden=256 batch=128 timesteps=" + timesteps));
  CHECK(problem.operation().reference_source(problem) == ReferenceSource::kReferenceKernel);
  return problem;
}

struct GradientVerification {
  bool adopts = false, good = false;
  std::string what, reason;
};

// Verifies a kernel whose inputs have this seed although it claims seed 1.
GradientVerification verify_kernel(const Backend& cpu, const Problem& problem, int64_t seed,
                                   const std::string& library = "") {
  Attributes options, of_reference;
  options.set("seed", seed);
  options.set("library", library);
  of_reference.set("seed", int64_t{1});
  of_reference.set("library", std::string("reference"));
  GradientVerification outcome;
  deepbench::Kernel kernel = cpu.plan(problem, options).prepare();
  Verifier verifier(problem, kernel.facts(), 1, "uniform", 2, [&] {
    deepbench::Kernel reference = cpu.plan(problem, of_reference).prepare();
    reference.adopt_forward_states(kernel);
    outcome.adopts = reference.forward_states() == DEEPBENCH_STATES_ADOPTED;
    return reference;
  });
  Verifier::reset_outputs(kernel);
  kernel.time_batch(1);
  outcome.good = verifier.check(kernel, "now");
  outcome.what = verifier.result().what;
  outcome.reason = verifier.result().reason;
  return outcome;
}

TEST_CASE("rnn: a reference with adopted states verifies large gradients of a library") {
  if (!is_onednn_installed()) return;
  const Backend cpu(&backend(), "");
  for (const std::string cell : kCells) {
    CAPTURE(cell);
    const Problem problem = large_gradients(cell);
    for (const int64_t seed : {1, 2}) {
      const GradientVerification outcome = verify_kernel(cpu, problem, seed);
      CHECK(outcome.adopts == (seed == 1));
      CHECK(outcome.good == (seed == 1));
      if (seed == 1) CHECK(outcome.what.find("tested h(t)") != std::string::npos);
    }
  }
}

// Verifies a kernel with the right gradients that follow a forward pass whose h(t) are those of the
// problem times `gain`.
GradientVerification verify_after_scaled_forward(float gain) {
  // The kernel that the core's kernel represents.
  static const deepbench_kernel* keeping = nullptr;
  const Problem problem = Problem::parse(
      "rnn cell=vanilla hidden=8 batch=512 timesteps=520 phase=bwd precision=bfloat16");
  CHECK(problem.operation().reference_source(problem) == ReferenceSource::kReferenceKernel);
  Rnn rnn = training_layer("vanilla", 8, 512, 520);
  rnn.precision = precision_info("bfloat16");
  Kernel forward("rnn",
                 "cell=vanilla hidden=8 batch=512 timesteps=520 phase=fwd mode=training "
                 "precision=bfloat16",
                 "library=reference seed=1");
  forward.run(1);
  std::vector<float> states;
  for (const double h : forward.read(uint64_t(rnn.sequence()))) states.push_back(float(h) * gain);
  cpu::PreparedKernel stand_in(std::make_unique<cpu::ReferenceOperands>(
                                   plain_storage(rnn), cpu::CopyPlan(), cpu::Inputs::kUniform, 1),
                               std::make_unique<FixedStatesCall>(rnn, states), cpu::CopyPlan(), 1);
  keeping = reinterpret_cast<const deepbench_kernel*>(static_cast<plugin::Kernel*>(&stand_in));
  deepbench_backend table = backend();
  static const deepbench_forward_state adopt_states_of_keeping = {
      sizeof(deepbench_forward_state),
      [](deepbench_kernel* reference, deepbench_kernel*, int32_t* answer) {
        *answer = testing::adopt_forward_states(backend(), reference,
                                                const_cast<deepbench_kernel*>(keeping));
        return DEEPBENCH_OK;
      }};
  table.extension = [](const char*) -> const void* { return &adopt_states_of_keeping; };
  return verify_kernel(Backend(&table, ""), problem, 1, "reference");
}

TEST_CASE("rnn: gradients after a forward pass with a small error are incorrect") {
  const GradientVerification right = verify_after_scaled_forward(1);
  CHECK(right.adopts);
  CHECK(right.good);
  const GradientVerification wrong = verify_after_scaled_forward(1.03f);
  CHECK_FALSE(wrong.adopts);
  CHECK_FALSE(wrong.good);
  CHECK(wrong.reason.find("off by a small part everywhere") != std::string::npos);
}

// Tests backends that cannot adopt states: without the extension, with a table that ends before the
// function, and with a function that returns unsupported.
TEST_CASE("rnn: without adopted states, the reference computes its forward pass for verification") {
  if (!is_onednn_installed()) return;
  deepbench_backend absent = backend(), short_table = backend(), refusing = backend();
  absent.extension = nullptr;
  short_table.extension = [](const char*) -> const void* {
    static const size_t struct_size = sizeof struct_size;
    return &struct_size;
  };
  refusing.extension = [](const char*) -> const void* {
    static const deepbench_forward_state forward_state = {
        sizeof forward_state, [](deepbench_kernel*, deepbench_kernel*, int32_t* states) {
          *states = DEEPBENCH_STATES_ADOPTED;
          return DEEPBENCH_UNSUPPORTED;
        }};
    return &forward_state;
  };
  const Problem problem = large_gradients("vanilla");
  for (const deepbench_backend* table : {&absent, &short_table, &refusing}) {
    const GradientVerification outcome = verify_kernel(Backend(table, ""), problem, 1);
    CHECK_FALSE(outcome.adopts);
    CHECK(outcome.good);
    CHECK(outcome.what.find("own h(t)") == std::string::npos);
  }
}

}  // namespace
}  // namespace deepbench::cpu_test
