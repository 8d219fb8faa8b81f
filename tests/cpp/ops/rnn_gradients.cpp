// Tests the gradients' references of rnn against difference quotients of a plain forward pass,
// against plain loops, and against loops with mutants.
#include <doctest/doctest.h>

#include <string>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/rnn/reference.hpp"
#include "fixed_output.hpp"
#include "naive_rnn.hpp"

namespace deepbench {
namespace {

using testing::FixedOutput;
using testing::NaiveRnn;
using testing::worst_error;

const char* const kCellNames[] = {"vanilla", "lstm", "gru", "gru_reset_before"};

Problem gradient_problem(const std::string& cell, const std::string& rest,
                         const std::string& phase = "bwd") {
  return Problem::parse("rnn cell=" + cell + " phase=" + phase + " " + rest);
}

ExpectedOutput expected_gradients(const Problem& problem, int64_t inputs = 1) {
  CHECK(problem.operation().reference_source(problem) == ReferenceSource::kInputs);
  KernelConditions conditions;
  conditions.facts.set("inputs", inputs);
  return problem.operation().expected_output(problem, conditions);
}

FixedOutput library_output(const Problem& problem, const std::string& mutant = "") {
  NaiveRnn<float> rnn(rnn_problem(problem));
  rnn.mutant = mutant;
  rnn.narrow = problem.text("precision") == "bfloat16";
  return FixedOutput(rnn.backward());
}

TEST_CASE("rnn: the bounds of gradients depend on the sums that a kernel rounds") {
  for (const std::string cell : {"vanilla", "gru"})
    for (const std::string fact : {"sums", "partial_sums"}) {
      CAPTURE(cell);
      CAPTURE(fact);
      const Problem problem =
          gradient_problem(cell, "hidden=16 batch=2 timesteps=6 precision=half");
      const ExpectedOutput usual = expected_gradients(problem);
      KernelConditions conditions;
      conditions.facts.set(fact, std::string("half"));
      const ExpectedOutput wider = problem.operation().expected_output(problem, conditions);
      CHECK(wider.values == usual.values);
      size_t widened = 0;
      for (size_t i = 0; i < usual.bounds.size(); ++i) {
        CHECK(wider.bounds[i] >= usual.bounds[i]);
        widened += wider.bounds[i] > 1.05 * usual.bounds[i];
      }
      CHECK(widened > usual.bounds.size() / 2);
    }
}

TEST_CASE("rnn: gradients equal difference quotients of the forward pass") {
  for (const std::string cell : kCellNames) {
    for (const int64_t inputs : {1, 3}) {
      CAPTURE(cell);
      CAPTURE(inputs);
      const Problem problem = gradient_problem(cell, "hidden=3 batch=2 timesteps=4");
      Rnn rnn = rnn_problem(problem);
      rnn.inputs = inputs;
      const ExpectedOutput expected = expected_gradients(problem, inputs);
      REQUIRE(expected.indices.size() == size_t(rnn.outputs()));
      NaiveRnn<double> naive(rnn);
      size_t at = 0;
      for (std::vector<double>* operand : {&naive.x, &naive.h0, &naive.u}) {
        for (double& element : *operand) {
          constexpr double kStep = 1e-5;
          element += kStep;
          const double above = naive.loss();
          element -= 2 * kStep;
          const double below = naive.loss();
          element += kStep;
          CHECK(expected.indices[at] == at);
          CHECK(std::abs(expected.values[at++] - (above - below) / (2 * kStep)) < 1e-9);
        }
      }
      CHECK(at == expected.values.size());
    }
  }
}

TEST_CASE("rnn: gradients equal those of plain loops, in the order of the phase") {
  for (const std::string cell : kCellNames) {
    for (const std::string phase : {"bwd_data", "bwd_weights", "bwd"}) {
      CAPTURE(cell);
      CAPTURE(phase);
      const Problem problem = gradient_problem(cell, "hidden=21 batch=5 timesteps=9", phase);
      FixedOutput exact(NaiveRnn<double>(rnn_problem(problem)).backward());
      const ExpectedOutput expected = expected_gradients(problem);
      CHECK(int64_t(expected.outputs) == rnn_problem(problem).outputs());
      CHECK(expected.coverage == "all " + std::to_string(expected.outputs) + " outputs");
      for (size_t i = 0; i < expected.values.size(); ++i)
        CHECK(std::abs(expected.values[i] - exact.at(expected.indices[i])) < 1e-13);
    }
  }
}

TEST_CASE("rnn: a library's gradients are accepted within small bounds") {
  for (const std::string cell : kCellNames) {
    for (const std::string sizes :
         {"hidden=40 batch=3 timesteps=30", "hidden=5 batch=2 timesteps=2"}) {
      for (const std::string precision : {"float", "bfloat16"}) {
        CAPTURE(cell);
        CAPTURE(sizes);
        CAPTURE(precision);
        const Problem problem = gradient_problem(cell, sizes + " precision=" + precision);
        FixedOutput output = library_output(problem);
        const ExpectedOutput expected = expected_gradients(problem);
        CHECK(worst_error(expected, output) <= 1);
        double values = 0, bounds = 0;
        for (const double value : expected.values) values += value * value;
        for (const double bound : expected.bounds) bounds += bound * bound;
        CHECK(bounds < values * (precision == "float" ? 1e-8 : 0.1));
      }
    }
  }
}

TEST_CASE("rnn: wrong gradients are rejected") {
  for (const std::string cell : kCellNames) {
    for (const std::string mutant :
         {"last step dropped", "gates swapped", "h' gets no gradient", "dU without step 0",
          "dx without the last gate", "last term dropped", "bfloat16 sums"}) {
      if (cell == "vanilla" && mutant == "gates swapped") continue;
      CAPTURE(cell);
      CAPTURE(mutant);
      const Problem problem = gradient_problem(cell, "hidden=24 batch=2 timesteps=12");
      FixedOutput output = library_output(problem, mutant);
      CHECK(worst_error(expected_gradients(problem), output) > 2);
    }
    const Problem problem = gradient_problem(cell, "hidden=24 batch=2 timesteps=12");
    std::vector<float> values = NaiveRnn<float>(rnn_problem(problem)).backward();
    for (const size_t index : {size_t{3}, size_t{40}, values.size() - 1}) {  // dx, dh0, dU
      std::vector<float> changed = values;
      changed[index] += 1e-3f;
      FixedOutput output(changed);
      CHECK(worst_error(expected_gradients(problem), output) > 2);
    }
  }
}

TEST_CASE("rnn: where float64 takes too long, the reference kernel is the reference") {
  const auto reference_source = [](const std::string& line) {
    const Problem problem = Problem::parse(line);
    return problem.operation().reference_source(problem);
  };
  for (const std::string phase : {"bwd", "bwd_data", "bwd_weights"}) {
    CHECK(reference_source("rnn cell=lstm hidden=512 batch=16 timesteps=25 phase=" + phase) ==
          ReferenceSource::kInputs);
    CHECK(reference_source("rnn cell=lstm hidden=256 batch=8 timesteps=150 phase=" + phase) ==
          ReferenceSource::kInputs);
    CHECK(reference_source("rnn cell=gru hidden=2816 batch=32 timesteps=1500 phase=" + phase) ==
          ReferenceSource::kReferenceKernel);
    CHECK(reference_source("rnn cell=lstm hidden=4096 batch=16 timesteps=25 phase=" + phase) ==
          ReferenceSource::kReferenceKernel);
    CHECK(reference_source("rnn cell=vanilla hidden=1 batch=3000 timesteps=1000 phase=" + phase) ==
          ReferenceSource::kReferenceKernel);  // little work, but too many states
    CHECK(reference_source("rnn cell=vanilla hidden=8192 batch=1 timesteps=1 phase=" + phase) ==
          ReferenceSource::kReferenceKernel);
  }
  CHECK(reference_source("rnn cell=gru hidden=2816 batch=32 timesteps=1500") ==
        ReferenceSource::kTestedOutput);
}

ExpectedOutput expected_gradients_of_composition(const Problem& problem, FixedOutput& reference,
                                                 bool follows = true) {
  KernelConditions conditions;
  conditions.computed_output = &reference;
  conditions.from_tested_forward = follows;
  return expected_reference_kernel_gradients(rnn_problem(problem), conditions);
}

TEST_CASE("rnn: the reference kernel's gradients accept a library's and reject wrong ones") {
  for (const std::string cell : kCellNames) {
    CAPTURE(cell);
    const Problem problem = gradient_problem(cell, "hidden=32 batch=16 timesteps=20");
    FixedOutput reference(NaiveRnn<double>(rnn_problem(problem)).backward());
    const ExpectedOutput expected = expected_gradients_of_composition(problem, reference);
    REQUIRE(expected.projection_rows >= 16);
    CHECK(expected.outputs % expected.projection_rows == 0);
    CHECK(expected.projections.size() == expected.projection_rows);
    FixedOutput right = library_output(problem);
    CHECK(worst_error(expected, right) <= 1);
    for (const std::string mutant :
         {"last step dropped", "h' gets no gradient", "dU without step 0", "last term dropped"}) {
      CAPTURE(mutant);
      FixedOutput wrong = library_output(problem, mutant);
      CHECK(worst_error(expected, wrong) > 100);
    }
    const bool other_bounds =
        expected_gradients_of_composition(problem, reference, false).bounds != expected.bounds;
    CHECK(other_bounds == (cell == "vanilla"));
  }
}

// A unit near ReLU's kink may have either slope if the reference kernel does not start from the
// tested h(t). In a large problem such a unit must be accepted, while a missing step must not. A
// reference kernel that starts from the tested h(t) knows the slope.
TEST_CASE("rnn: units on the other side of ReLU's kink are accepted, missing steps are not") {
  const Problem problem = gradient_problem("vanilla", "hidden=32 batch=64 timesteps=50");
  const Rnn rnn = rnn_problem(problem);
  std::vector<double> values = NaiveRnn<double>(rnn).backward();
  FixedOutput reference(values);
  const ExpectedOutput expected = expected_gradients_of_composition(problem, reference, false);
  const size_t first = values.size() - size_t(rnn.du_elements());
  for (size_t j = 0; j < 32; ++j) values[first + 5 * 32 + j] += 0.4 * 0.5;  // dh times h'
  values[1234] += 0.4 * 0.5;                                                // dh times Wx
  FixedOutput flipped(values);
  CHECK(worst_error(expected, flipped) <= 1);
  CHECK(worst_error(expected_gradients_of_composition(problem, reference), flipped) > 100);
  FixedOutput dropped = library_output(problem, "last step dropped");
  CHECK(worst_error(expected, dropped) > 1);
}

TEST_CASE("rnn: precisions without a reference are unsupported") {
  const Problem problem =
      Problem::parse("rnn cell=lstm hidden=4 batch=1 timesteps=2 precision=fp8_e4m3");
  FixedOutput output(std::vector<double>(8));
  KernelConditions conditions;
  conditions.computed_output = &output;
  CHECK_THROWS_WITH_AS(problem.operation().expected_output(problem, conditions),
                       "a recurrent layer cannot be verified in fp8_e4m3", RowFailure);
}

}  // namespace
}  // namespace deepbench
