// Tests the forward reference of rnn against plain loops, and against loops with mutants.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "deepbench/core/operation.hpp"
#include "fixed_output.hpp"
#include "naive_rnn.hpp"

namespace deepbench {
namespace {

using testing::FixedOutput;
using testing::NaiveRnn;
using testing::worst_error;

const char* const kCells[] = {"vanilla", "lstm", "gru", "gru_reset_before"};

Problem problem_of(const std::string& cell, const std::string& rest) {
  return Problem::parse("rnn cell=" + cell + " " + rest);
}

ExpectedOutput expected_output_following(const Problem& problem, FixedOutput& output,
                                         KernelConditions conditions = {}) {
  CHECK(problem.operation().reference_source(problem) == ReferenceSource::kTestedOutput);
  conditions.computed_output = &output;
  return problem.operation().expected_output(problem, conditions);
}

// The result of a library that computes in float, with a mutant.
FixedOutput library_output(const Problem& problem, const std::string& mutant = "") {
  NaiveRnn<float> rnn(rnn_problem(problem));
  rnn.mutant = mutant;
  rnn.narrow = problem.text("precision") == "bfloat16";
  return FixedOutput(rnn.forward());
}

TEST_CASE("rnn: the forward reference of small problems equals the definition for every output") {
  for (const std::string cell : kCells) {
    for (const int64_t inputs : {1, 7}) {
      CAPTURE(cell);
      const Problem problem = problem_of(cell, "hidden=7 batch=3 timesteps=5");
      Rnn rnn = rnn_problem(problem);
      rnn.inputs = inputs;
      FixedOutput exact(NaiveRnn<double>(rnn, 3).forward());
      KernelConditions conditions;
      conditions.seed = 3;
      conditions.facts.set("inputs", inputs);
      const ExpectedOutput expected = expected_output_following(problem, exact, conditions);
      CHECK(expected.outputs == 105);
      CHECK(expected.coverage == "all 105 outputs");
      REQUIRE(expected.indices.size() == 105);
      for (size_t i = 0; i < 105; ++i) {
        // The preceding states are read in the output's precision.
        CHECK(std::abs(expected.values[i] - exact.at(expected.indices[i])) < 2e-7);
        CHECK(expected.bounds[i] > 0);
        CHECK(expected.bounds[i] < 4e-6);
      }
      std::vector<uint64_t> indices = expected.indices;
      std::sort(indices.begin(), indices.end());
      for (uint64_t i = 0; i < 105; ++i) CHECK(indices[i] == i);
    }
  }
}

TEST_CASE("rnn: a library's forward pass is accepted") {
  for (const std::string cell : kCells) {
    for (const std::string precision : {"float", "bfloat16"}) {
      CAPTURE(cell);
      CAPTURE(precision);
      const Problem problem =
          problem_of(cell, "hidden=48 batch=2 timesteps=20 precision=" + precision);
      FixedOutput output = library_output(problem);
      const ExpectedOutput expected = expected_output_following(problem, output);
      CHECK(worst_error(expected, output) <= 1);
      const double largest = *std::max_element(expected.bounds.begin(), expected.bounds.end());
      CHECK(largest < (precision == "float" ? 1e-5 : 2e-2));
    }
  }
}

TEST_CASE("rnn: a wrong forward pass is rejected") {
  const std::pair<const char*, const char*> mutants[] = {
      {"last term dropped", "vanilla lstm gru gru_reset_before"},
      {"gates swapped", "lstm gru gru_reset_before"},
      {"bfloat16 sums", "vanilla lstm gru gru_reset_before"},
      {"no input", "vanilla lstm gru gru_reset_before"},
      {"a tile is zero", "vanilla lstm gru gru_reset_before"},
      {"c is not carried", "lstm"},
      {"c0 is zero", "lstm"},
      {"no inner bias", "gru "}};
  for (const auto& [mutant, cells] : mutants) {
    for (const std::string cell : kCells) {
      if ((std::string(cells) + " ").find(cell + " ") == std::string::npos) continue;
      CAPTURE(mutant);
      CAPTURE(cell);
      const Problem problem = problem_of(cell, "hidden=48 batch=2 timesteps=6");
      FixedOutput output = library_output(problem, mutant);
      CHECK(worst_error(expected_output_following(problem, output), output) > 2);
    }
  }
}

TEST_CASE("rnn: a single wrong element is rejected, and so is storing in a narrower type") {
  for (const std::string cell : kCells) {
    CAPTURE(cell);
    const Problem problem = problem_of(cell, "hidden=48 batch=2 timesteps=6");
    std::vector<float> values = NaiveRnn<float>(rnn_problem(problem)).forward();
    values[333] += 1e-4f;
    FixedOutput wrong(values);
    CHECK(worst_error(expected_output_following(problem, wrong), wrong) > 2);

    NaiveRnn<float> rnn(rnn_problem(problem));
    rnn.narrow = true;
    FixedOutput narrow(rnn.forward());
    CHECK(worst_error(expected_output_following(problem, narrow), narrow) > 2);
  }
}

TEST_CASE("rnn: values stored in a narrow type widen the bounds and change no value") {
  const Problem problem = problem_of("lstm", "hidden=16 batch=2 timesteps=6 precision=bfloat16");
  FixedOutput output = library_output(problem);
  const ExpectedOutput usual = expected_output_following(problem, output);
  for (const std::string fact : {"cell_state", "gates", "sums", "partial_sums"}) {
    CAPTURE(fact);
    KernelConditions conditions;
    conditions.facts.set(fact, std::string("bfloat16"));
    const ExpectedOutput wider = expected_output_following(problem, output, conditions);
    CHECK(wider.values == usual.values);
    for (size_t i = 0; i < usual.bounds.size(); ++i) {
      CHECK(wider.bounds[i] > usual.bounds[i]);
      CHECK(wider.bounds[i] < 0.05);
    }
  }
}

TEST_CASE("rnn: rounded partial sums are accepted if the kernel reports them") {
  for (const std::string cell : {"vanilla", "lstm", "gru"}) {
    CAPTURE(cell);
    const Problem problem = problem_of(cell, "hidden=48 batch=2 timesteps=20 precision=bfloat16");
    NaiveRnn<float> rnn(rnn_problem(problem));
    rnn.narrow = rnn.narrow_sums = true;
    FixedOutput output(rnn.forward());
    CHECK(worst_error(expected_output_following(problem, output), output) > 1);
    KernelConditions conditions;
    conditions.facts.set("sums", std::string("bfloat16"));
    CHECK(worst_error(expected_output_following(problem, output, conditions), output) <= 1);
    rnn.mutant = "last term dropped";
    FixedOutput wrong(rnn.forward());
    CHECK(worst_error(expected_output_following(problem, wrong, conditions), wrong) > 2);
  }
}

// Where bias and input cancel, the sum of both products is much larger than what is left of it.
TEST_CASE("rnn: sums that are rounded before the bias is added are accepted") {
  for (const std::string cell : {"vanilla", "lstm", "gru"}) {
    CAPTURE(cell);
    const Problem problem = problem_of(cell, "hidden=48 batch=8 timesteps=40 precision=bfloat16");
    Rnn rnn = rnn_problem(problem);
    rnn.inputs = 48;
    NaiveRnn<float> library(rnn);
    library.narrow = library.narrow_sums = library.bias_last = true;
    FixedOutput output(library.forward());
    KernelConditions conditions;
    conditions.facts.set("inputs", int64_t{48});
    conditions.facts.set("sums", std::string("bfloat16"));
    CHECK(worst_error(expected_output_following(problem, output, conditions), output) <= 1);
  }
}

TEST_CASE("rnn: fast activations widen the bounds, narrow sums do not in float") {
  const Problem problem = problem_of("lstm", "hidden=48 batch=2 timesteps=6");
  FixedOutput output = library_output(problem);
  const ExpectedOutput usual = expected_output_following(problem, output);
  KernelConditions conditions;
  conditions.facts.set("activations", std::string("fast"));
  const ExpectedOutput fast = expected_output_following(problem, output, conditions);
  CHECK(*std::max_element(fast.bounds.begin(), fast.bounds.end()) < 5e-5);
  for (size_t i = 0; i < usual.bounds.size(); ++i) CHECK(fast.bounds[i] > 2 * usual.bounds[i]);
  FixedOutput narrow = library_output(problem, "bfloat16 sums");
  CHECK(worst_error(expected_output_following(problem, narrow, conditions), narrow) > 2);
  KernelConditions of_float;
  of_float.facts.set("sums", std::string("float"));
  CHECK(expected_output_following(problem, output, of_float).bounds == usual.bounds);
}

TEST_CASE("rnn: long sequences are checked in segments; lstm's first steps only compute c") {
  const Problem problem = problem_of("lstm", "hidden=3 batch=700 timesteps=260");
  FixedOutput right = library_output(problem);
  const ExpectedOutput expected = expected_output_following(problem, right);
  CHECK(expected.indices.size() >= 4096);
  CHECK(expected.indices.size() < expected.outputs);
  CHECK(expected.coverage.find(" of 546000 outputs, each computed from the tested h(t-1)") !=
        std::string::npos);
  CHECK(worst_error(expected, right) <= 1);
  CHECK(*std::max_element(expected.bounds.begin(), expected.bounds.end()) < 1e-5);
  for (const uint64_t index : {0, 545999})  // the samples include the first and the last output
    CHECK(std::count(expected.indices.begin(), expected.indices.end(), index) > 0);
  FixedOutput wrong = library_output(problem, "c is not carried");
  CHECK(worst_error(expected_output_following(problem, wrong), wrong) > 2);
}

// Accepts any index.
class RandomOutput final : public FixedOutput {
 public:
  RandomOutput() : FixedOutput(std::vector<double>()) {}
  double at(uint64_t index) const override { return 0.3 * deepbench_uniform(5, 7, index); }
};

int64_t fewest_steps_of_a_unit(const ExpectedOutput& expected, int64_t units) {
  std::vector<int64_t> steps(static_cast<size_t>(units));
  for (const uint64_t index : expected.indices) ++steps[index % uint64_t(units)];
  return *std::min_element(steps.begin(), steps.end());
}

TEST_CASE("rnn: the forward passes of the largest problems are sampled at a bounded cost") {
  for (const std::string cell : kCells) {
    for (const std::string sizes :
         {"hidden=2816 batch=32 timesteps=1500", "hidden=4096 batch=128 timesteps=25"}) {
      CAPTURE(cell);
      CAPTURE(sizes);
      const Problem problem = problem_of(cell, sizes);
      RandomOutput output;
      const ExpectedOutput expected = expected_output_following(problem, output);
      CHECK(expected.indices.size() >= 2000);
      CHECK(expected.indices.size() <= 100000);
      CHECK(output.elements_read() <= 4000000);
      CHECK(fewest_steps_of_a_unit(expected, rnn_problem(problem).hidden) >= 4);
      CHECK(worst_error(expected, output) > 2);
    }
  }
}

}  // namespace
}  // namespace deepbench
