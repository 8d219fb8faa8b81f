// Checks that the reference for int8 rnn inference accepts a layer that is computed in integers,
// and that it rejects layers into which a single error was put.
#include <doctest/doctest.h>

#include <string>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "fixed_output.hpp"
#include "naive_int8_rnn.hpp"

namespace deepbench {
namespace {

using testing::FixedOutput;
using testing::NaiveInt8Rnn;
using testing::worst_error;

constexpr double kStep = 1 / Rnn::kDataScale;

Problem int8_problem(const std::string& cell, const std::string& sizes) {
  return Problem::parse("rnn cell=" + cell + " mode=inference precision=int8 " + sizes);
}

KernelConditions int8_conditions(FixedOutput& output, deepbench_type integers) {
  KernelConditions conditions;
  conditions.computed_output = &output;
  if (integers == DEEPBENCH_S7) conditions.fill = {{"wx", "s7"}, {"u", "s7"}};
  return conditions;
}

double int8_error(const Problem& problem, const std::string& mutant,
                  deepbench_type integers = DEEPBENCH_S7) {
  NaiveInt8Rnn rnn(rnn_problem(problem), integers);
  rnn.mutant = mutant;
  FixedOutput output(rnn.forward());
  return worst_error(
      problem.operation().expected_output(problem, int8_conditions(output, integers)), output);
}

TEST_CASE("rnn: an int8 layer is accepted for both ranges of weights") {
  for (const std::string cell : {"lstm", "gru_reset_before"})
    for (const deepbench_type integers : {DEEPBENCH_S7, DEEPBENCH_S8})
      for (const std::string sizes :
           {"hidden=1 batch=1 timesteps=1", "hidden=48 batch=2 timesteps=20",
            "hidden=130 batch=9 timesteps=5"}) {
        CAPTURE(cell);
        CAPTURE(sizes);
        CHECK(int8_error(int8_problem(cell, sizes), "", integers) <= 1);
      }
}

TEST_CASE("rnn: long int8 sequences are checked in segments") {
  const Problem problem = int8_problem("lstm", "hidden=3 batch=700 timesteps=260");
  CHECK(int8_error(problem, "") <= 1);
  CHECK(int8_error(problem, "c is not carried") > 2);
}

TEST_CASE("rnn: nearly every int8 state must be the exact integer") {
  for (const std::string cell : {"lstm", "gru_reset_before"}) {
    const Problem problem = int8_problem(cell, "hidden=64 batch=8 timesteps=20");
    FixedOutput output(NaiveInt8Rnn(rnn_problem(problem), DEEPBENCH_S7).forward());
    const ExpectedOutput expected =
        problem.operation().expected_output(problem, int8_conditions(output, DEEPBENCH_S7));
    CHECK(expected.indices.size() == 10240);
    size_t ties = 0;
    for (size_t i = 0; i < expected.values.size(); ++i) {
      CHECK(expected.bounds[i] <= 0.75 * kStep);
      ties += expected.bounds[i] != 0.25 * kStep;
    }

    CHECK(ties < 30);
  }
}

TEST_CASE("rnn: a wrong int8 layer is rejected") {
  const char* const mutants[] = {
      "last term dropped",    "gates swapped",     "wrong scale",
      "no bias of a gate",    "no input",          "a tile is zero",
      "states are truncated", "states stay float", "one row keeps the shift"};
  for (const std::string cell : {"lstm", "gru_reset_before"})
    for (const std::string mutant : mutants)
      for (const std::string sizes :
           {"hidden=48 batch=2 timesteps=6", "hidden=200 batch=4 timesteps=6"}) {
        CAPTURE(cell);
        CAPTURE(mutant);
        CAPTURE(sizes);
        CHECK(int8_error(int8_problem(cell, sizes), mutant) > 1.2);
      }
  CHECK(int8_error(int8_problem("lstm", "hidden=48 batch=2 timesteps=6"), "c is not carried") > 2);
}

TEST_CASE("rnn: int8 sums in 16 bits saturate with 8-bit weights but not with 7-bit weights") {
  for (const std::string cell : {"lstm", "gru_reset_before"}) {
    const Problem problem = int8_problem(cell, "hidden=64 batch=4 timesteps=6");
    CHECK(int8_error(problem, "sums saturate", DEEPBENCH_S8) > 2);
    CHECK(int8_error(problem, "sums saturate", DEEPBENCH_S7) <= 1);
  }
}

TEST_CASE("rnn: a single wrong int8 output is rejected") {
  const Problem problem = int8_problem("lstm", "hidden=48 batch=2 timesteps=6");
  std::vector<float> values = NaiveInt8Rnn(rnn_problem(problem), DEEPBENCH_S8).forward();
  values[575] += float(kStep);  // an output of the last step, which no later step reads
  FixedOutput wrong(values);
  const KernelConditions conditions = int8_conditions(wrong, DEEPBENCH_S8);
  CHECK(worst_error(problem.operation().expected_output(problem, conditions), wrong) > 2);
}

TEST_CASE("rnn: gradients in int8 have no reference") {
  const Problem problem =
      Problem::parse("rnn cell=lstm hidden=4 batch=1 timesteps=2 phase=bwd precision=int8");
  CHECK_THROWS_WITH_AS(problem.operation().expected_output(problem, KernelConditions{}),
                       "gradients cannot be verified in int8", RowFailure);
}

}  // namespace
}  // namespace deepbench
