// Tests the reference of conv against nine plain loops, and against mutants that it must reject.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "naive_conv.hpp"

namespace deepbench {
namespace {

using testing::NaiveConv;

constexpr const char* kPhases[] = {"fwd", "bwd_data", "bwd_filter"};

Problem problem_of(const std::string& line, const std::string& phase) {
  return Problem::parse("conv " + line + " phase=" + phase);
}

ExpectedOutput expected_output_of(const Problem& problem, const KernelConditions& conditions = {}) {
  return problem.operation().expected_output(problem, conditions);
}

// The number of checks that these outputs fail, as run/row/verify.cpp performs them.
size_t failed_checks(const ExpectedOutput& expected, const std::vector<double>& output) {
  size_t wrong = 0;
  for (size_t i = 0; i < expected.indices.size(); ++i)
    wrong += !(std::abs(output[expected.indices[i]] - expected.values[i]) <= expected.bounds[i]);
  const uint64_t rows = expected.projection_rows;
  for (uint64_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (uint64_t j = 0; j < expected.outputs / rows; ++j)
      sum += output[row + j * rows] * deepbench_weight(expected.projection_seed, j);
    wrong += !(std::abs(sum - expected.projections[row]) <= expected.projection_bounds[row]);
  }
  return wrong;
}

// Small shapes of every kind, checked in full.
constexpr const char* kSmall[] = {
    "w=7 h=6 c=3 n=2 k=4 s=3 r=3 pad_w=1 pad_h=1",
    "w=1 h=1 c=1 n=1 k=1 s=1 r=1",
    "w=1 h=1 c=7 n=3 k=5 s=1 r=1",
    "w=11 h=9 c=2 n=3 k=3 s=4 r=2 stride_w=2 stride_h=3",
    "w=10 h=8 c=2 n=1 k=2 s=3 r=2 stride_w=3 pad_w=2 pad_h=4",
    "w=13 h=12 c=3 n=2 k=2 s=3 r=3 dilation_w=2 dilation_h=3 pad_w=2 pad_h=1",
    "w=14 h=9 c=2 n=2 k=3 s=3 r=2 dilation_w=3 stride_w=2 stride_h=2 pad_w=3",
    "w=9 h=7 c=6 n=2 k=4 s=3 r=3 groups=2 pad_w=1",
    "w=8 h=8 c=5 n=3 k=5 s=3 r=3 groups=5 pad_w=1 pad_h=1",
    "w=8 h=5 c=4 n=7 k=8 s=2 r=3 groups=4 stride_w=2 pad_h=1",
    "w=6 h=5 c=2 n=2 k=3 s=2 r=3 d=5 t=3 pad_d=1 pad_h=1",
    "w=6 h=5 c=4 n=2 k=6 s=3 r=2 d=7 t=2 stride_d=2 dilation_d=3 pad_w=1 groups=2",
    "w=9 h=2 c=2 n=2 k=2 s=1 r=1 stride_w=4 stride_h=2",
    "w=5 h=5 c=2 n=2 k=2 s=2 r=2 pad_w=4 pad_h=3 stride_w=2",
    "w=3 h=3 c=16 n=1 k=40 s=3 r=3",
    "w=40 h=3 c=1 n=2 k=3 s=20 r=2 stride_w=2",
};

TEST_CASE("conv: the reference of small problems equals the definition for every output") {
  for (const char* line : kSmall) {
    for (const std::string phase : kPhases) {
      const Problem problem = problem_of(line, phase);
      CAPTURE(problem.str());
      KernelConditions conditions;
      conditions.seed = 3;
      const ExpectedOutput expected = expected_output_of(problem, conditions);
      const NaiveConv naive(conv_problem(problem), 3);
      const std::vector<double> values = naive.output();
      const std::vector<double> squares = naive.output(true);
      REQUIRE(expected.indices.size() == values.size());
      CHECK(expected.outputs == values.size());
      CHECK(expected.coverage == "all " + std::to_string(values.size()) + " outputs");
      size_t wrong = 0;
      const double roundoff =
          4 * std::sqrt(double(naive.conv.products_per_output())) * kRoundoffFloat;
      for (size_t i = 0; i < values.size(); ++i) {
        const double least = roundoff * std::sqrt(squares[i]);
        wrong += expected.indices[i] != i || std::abs(expected.values[i] - values[i]) > 1e-13 ||
                 expected.bounds[i] < least ||
                 expected.bounds[i] > 3 * least + 3 * kRoundoffFloat * std::abs(values[i]) +
                                          2 * roundoff * std::abs(values[i]);
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("conv: types and bounds follow the precision") {
  for (const std::string precision : {"tf32", "half", "bfloat16", "fp8_e4m3", "fp8_e5m2", "int8"}) {
    for (const std::string phase : kPhases) {
      const Problem problem = problem_of(std::string(kSmall[7]) + " precision=" + precision, phase);
      CAPTURE(problem.str());
      const ExpectedOutput expected = expected_output_of(problem);
      const std::vector<double> values = NaiveConv(conv_problem(problem)).output();
      for (size_t i = 0; i < values.size(); ++i)
        CHECK(expected.values[i] == doctest::Approx(values[i]).epsilon(1e-13));
      const double bound = *std::max_element(expected.bounds.begin(), expected.bounds.end());
      if (precision == "int8")
        CHECK(bound == 0);
      else
        CHECK((bound > 0 && bound < 0.2));
    }
  }
}

TEST_CASE("conv: the reference follows the kernel's conditions") {
  const Problem problem = problem_of(std::string(kSmall[0]) + " precision=int8 x_type=u8", "fwd");
  KernelConditions conditions;
  conditions.fill = {{"w", "s7"}};
  const NaiveConv naive(conv_problem(problem), 1, DEEPBENCH_S7);
  const std::vector<double> values = naive.output();
  CHECK(expected_output_of(problem, conditions).values == values);
  conditions.accumulator = "float";
  const ExpectedOutput rounded = expected_output_of(problem, conditions);
  CHECK(rounded.values == values);
  for (size_t i = 0; i < values.size(); ++i)
    CHECK(rounded.bounds[i] == kRoundoffFloat * std::abs(values[i]));

  const Problem flat = problem_of(kSmall[0], "fwd");
  conditions = {};
  conditions.inputs = "ones";
  // a corner output: four taps of three channels
  CHECK(expected_output_of(flat, conditions).values[0] == 3 * 4);
  conditions.inputs = "zeros";
  for (const double value : expected_output_of(flat, conditions).values) CHECK(value == 0);
}

// Stores the outputs like a library: rounded to nearest, ties to even.
std::vector<double> stored_in_8_bits(const Conv& conv, std::vector<double> sums) {
  for (double& sum : sums) sum = std::nearbyint(testing::saturated(conv, sum));
  return sums;
}

TEST_CASE("conv: 8-bit outputs are shifted, rounded and saturated, and checked one by one") {
  const std::string large = "w=40 h=40 c=32 n=4 k=64 s=3 r=3 pad_w=1 pad_h=1";
  for (const std::string& line : {std::string(kSmall[0]), large}) {
    for (const std::string x_type : {"s8", "u8"}) {
      const Problem problem =
          problem_of(line + " precision=int8 y_type=s8 x_type=" + x_type, "fwd");
      CAPTURE(problem.str());
      const Conv conv = conv_problem(problem);
      const ExpectedOutput expected = expected_output_of(problem);
      CHECK(expected.projection_rows == 0);
      CHECK(expected.elements_at != nullptr);
      CHECK(expected.indices.size() >=
            std::min<uint64_t>(expected.outputs, 40000));  // corners occur more than once
      for (const double bound : expected.bounds) REQUIRE(bound == kIntegerRoundoff);
      std::vector<double> right = stored_in_8_bits(conv, NaiveConv(conv).output());
      CHECK(failed_checks(expected, right) == 0);
      const auto count = [&](double value) {
        return std::count(right.begin(), right.end(), value) / double(right.size());
      };
      if (line == large) CHECK((count(127) > 0.004 && count(127) < 0.2));
      for (double& value : right) value = std::min(value + 1, 127.0);
      CHECK(failed_checks(expected, right) > expected.indices.size() / 2);
    }
  }
  const std::string int8 = " precision=int8";
  CHECK(expected_output_of(problem_of(kSmall[0] + int8, "fwd")).elements_at == nullptr);
  KernelConditions zeros;
  zeros.inputs = "zeros";
  CHECK(expected_output_of(problem_of(kSmall[0] + int8 + " y_type=s8", "fwd"), zeros).elements_at ==
        nullptr);
  // A single output that sums very many products.
  const std::string one = "w=4100 h=4100 c=1 n=1 k=1 s=4100 r=4100";
  CHECK(expected_output_of(problem_of(one + int8 + " y_type=s8", "fwd")).indices.size() == 1);
}

TEST_CASE("conv: Winograd widens the bounds and changes no value") {
  for (const char* line : {kSmall[0], "w=30 h=30 c=40 n=2 k=40 s=3 r=3 pad_w=1 pad_h=1"}) {
    KernelConditions conditions;
    const ExpectedOutput direct = expected_output_of(problem_of(line, "fwd"), conditions);
    conditions.accumulator = "winograd";
    const ExpectedOutput wider = expected_output_of(problem_of(line, "fwd"), conditions);
    CHECK(wider.values == direct.values);
    CHECK(wider.projections == direct.projections);
    for (size_t i = 0; i < direct.bounds.size(); ++i) {
      CHECK(wider.bounds[i] > 5 * direct.bounds[i]);
      CHECK(wider.bounds[i] < 1e-2);  // a missing product is detected nevertheless
    }
  }
}

TEST_CASE("conv: partial sums of 14 bits widen the bounds and change no value") {
  const Problem problem = problem_of(kSmall[0], "fwd");
  KernelConditions conditions;
  const ExpectedOutput exact = expected_output_of(problem, conditions);
  conditions.accumulator = "fp22";
  const ExpectedOutput wider = expected_output_of(problem, conditions);
  CHECK(wider.values == exact.values);
  for (size_t i = 0; i < exact.bounds.size(); ++i) CHECK(wider.bounds[i] > exact.bounds[i]);
}

// Larger shapes that are sampled and projected: each phase with each dimension that can be
// projected.
constexpr const char* kLarge[] = {
    "w=30 h=29 c=24 n=3 k=40 s=3 r=3 pad_w=1 pad_h=1",
    "w=29 h=31 c=8 n=40 k=10 s=3 r=3 pad_w=1 pad_h=1",
    "w=57 h=40 c=40 n=5 k=44 s=5 r=4 stride_w=2 stride_h=2 pad_w=2 groups=2",
    "w=35 h=40 c=12 n=5 k=40 s=5 r=3 dilation_w=3 dilation_h=2 groups=2 pad_w=6",
    "w=50 h=40 c=48 n=33 k=48 s=3 r=3 groups=48 pad_w=1",
    "w=14 h=12 c=32 n=4 k=40 s=3 r=3 d=8 t=3 pad_d=1 stride_d=2 groups=2",
    "w=30 h=20 c=70 n=8 k=60 s=1 r=1",
    "w=200 h=90 c=2 n=3 k=32 s=20 r=5 stride_w=2 stride_h=2",
};

TEST_CASE("conv: larger problems are sampled at corners and edges, and projected") {
  for (const char* line : kLarge) {
    for (const std::string phase : kPhases) {
      const Problem problem = problem_of(line, phase);
      CAPTURE(problem.str());
      const Conv conv = conv_problem(problem);
      const ExpectedOutput expected = expected_output_of(problem);
      const std::vector<double> values = NaiveConv(conv).output();
      REQUIRE(expected.outputs == values.size());
      REQUIRE(expected.projection_rows == uint64_t(conv.output().rows()));
      REQUIRE(expected.projections.size() == expected.projection_rows);
      CHECK(expected.indices.size() >= 20);
      CHECK(expected.indices.size() < values.size());
      CHECK(failed_checks(expected, values) == 0);
      double worst = 0;
      for (size_t i = 0; i < expected.indices.size(); ++i)
        worst = std::max(worst, std::abs(values[expected.indices[i]] - expected.values[i]));
      CHECK(worst < 1e-10);
    }
  }
}

struct Mutant {
  const char* what;
  void (*apply)(NaiveConv&);
};
constexpr Mutant kMutants[] = {
    {"one tap dropped",
     [](NaiveConv& naive) {
       naive.counts = [](int64_t, int64_t r, int64_t s) { return r != 1 || s != 2; };
     }},
    {"the last row of taps dropped at one output row",
     [](NaiveConv& naive) {
       naive.counts = [](int64_t p, int64_t r, int64_t) { return p != 3 || r != 2; };
     }},
    {"padding off by one", [](NaiveConv& naive) { naive.shift = 1; }},
    {"filters flipped", [](NaiveConv& naive) { naive.flipped = true; }},
};

TEST_CASE("conv: mutants of the convolution are rejected") {
  for (const char* line : {kLarge[0], kSmall[5], kSmall[7]}) {
    for (const std::string phase : kPhases) {
      const Problem problem = problem_of(line, phase);
      const Conv conv = conv_problem(problem);
      const ExpectedOutput expected = expected_output_of(problem);
      for (const Mutant& mutant : kMutants) {
        CAPTURE(problem.str());
        CAPTURE(mutant.what);
        NaiveConv naive(conv);
        mutant.apply(naive);
        CHECK(failed_checks(expected, naive.output()) > 0);
      }
    }
  }
}

TEST_CASE("conv: mutants of the output are rejected at any position") {
  for (const std::string precision : {"float", "int8"}) {
    for (const std::string phase : kPhases) {
      const Problem problem = problem_of(std::string(kLarge[0]) + " precision=" + precision, phase);
      CAPTURE(problem.str());
      const ExpectedOutput expected = expected_output_of(problem);
      const std::vector<double> right = NaiveConv(conv_problem(problem)).output();
      const auto fails = [&](auto change) {
        std::vector<double> output = right;
        change(output);
        return failed_checks(expected, output) > 0;
      };
      for (size_t at = 0; at < right.size(); at += right.size() / 7 + 1)
        CHECK(fails([at](std::vector<double>& output) { output[at] += 1; }));
      CHECK(fails([](std::vector<double>& output) {
        std::fill_n(output.begin() + std::ptrdiff_t(output.size() / 2), 64, 0.0);  // an output tile
      }));
      CHECK(fails([](std::vector<double>& output) {
        std::rotate(output.begin(), output.begin() + 1, output.end());
      }));
      CHECK(fails([](std::vector<double>& output) { std::fill(output.begin(), output.end(), 0); }));
    }
  }
}

// Errors that hardly change the sum of all outputs, in the types with the widest bounds.
TEST_CASE("conv: layers of width and height 1 are compared in full while that is affordable") {
  const std::string layer = "w=4 h=4 c=64 s=4 r=4";
  for (const std::string words : {" n=1 k=17000 phase=fwd", " n=2 k=9000 phase=fwd"}) {
    const Problem problem = Problem::parse("conv " + layer + words + " precision=bfloat16");
    CAPTURE(problem.str());
    const ExpectedOutput expected = expected_output_of(problem);
    const std::vector<double> right = NaiveConv(conv_problem(problem)).output();
    CHECK(expected.coverage == "all " + std::to_string(right.size()) + " outputs");
    REQUIRE(expected.indices.size() == right.size());
    CHECK(failed_checks(expected, right) == 0);
    for (size_t at = 0; at < right.size(); at += right.size() / 7 + 1) {
      std::vector<double> output = right;
      output[at] = 0;  // wrong by about its size
      CHECK(failed_checks(expected, output) == (std::abs(right[at]) > expected.bounds[at]));
      output = right;
      output[at] += 4;
      CHECK(failed_checks(expected, output) == 1);
    }
  }
  const ExpectedOutput larger =
      expected_output_of(Problem::parse("conv w=7 h=7 c=512 n=3 k=4096 s=7 r=7"));
  CHECK(larger.indices.size() > 3000);  // of 12288 outputs
  CHECK(larger.projection_rows == 3);
}

// Sums in half: each product and each partial sum is rounded to 11 bits.
std::vector<double> summed_in_half(const Conv& conv) {
  const std::vector<double> exact = NaiveConv(conv).output();
  std::vector<double> output = exact;
  const double error = std::sqrt(double(conv.products_per_output())) / 2048 / 4;
  for (size_t i = 0; i < output.size(); ++i)
    output[i] += error * exact[i] * double(deepbench_uniform(9, 1, i));
  return output;
}

TEST_CASE("conv: sums in half are rejected in float and half") {
  for (const std::string precision : {"float", "half"}) {
    for (const std::string phase : kPhases) {
      const Problem problem = problem_of(std::string(kLarge[0]) + " precision=" + precision, phase);
      CAPTURE(problem.str());
      CHECK(failed_checks(expected_output_of(problem), summed_in_half(conv_problem(problem))) > 0);
    }
  }
}

}  // namespace
}  // namespace deepbench
