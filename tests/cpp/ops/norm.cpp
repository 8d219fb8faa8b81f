// Tests norm: bytes, validity, outputs and the reference.
#include "deepbench/ops/norm/norm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

ExpectedOutput expectation(const std::string& line, uint32_t output = 0) {
  const Problem problem = Problem::parse("norm " + line);
  KernelConditions conditions;
  conditions.output = output;
  return problem.operation().expected_output(problem, conditions);
}

double bytes(const std::string& line) {
  const Problem problem = Problem::parse("norm " + line);
  CHECK(problem.operation().work(problem).flops == 0);
  return problem.operation().work(problem).bytes;
}

std::vector<std::string> outputs(const std::string& line) {
  const Problem problem = Problem::parse("norm " + line);
  return problem.operation().outputs(problem);
}

// Element i of an operand in float.
double element(const NormValues& values, int64_t i) {
  return values.element(deepbench_uniform(1, values.stream, uint64_t(i)), DEEPBENCH_F32);
}

TEST_CASE("norm: every operand moves once") {
  // x and y; scale and shift; two statistics of each row.
  CHECK(bytes("kind=layer rows=100 columns=8 phase=training precision=half") ==
        2 * 2 * 800 + 4 * 2 * 8 + 4 * 2 * 100);
  CHECK(bytes("kind=layer rows=100 columns=8 phase=inference") == 4 * 2 * 800 + 4 * 2 * 8);
  CHECK(bytes("kind=rms rows=100 columns=8 phase=inference") == 4 * 2 * 800 + 4 * 8);
  // The statistics are operands.
  CHECK(bytes("kind=batch rows=100 columns=8 phase=inference") == 4 * 2 * 800 + 4 * 4 * 8);
  // x, dy and dx; scale, dscale and dshift; two statistics of each part of a row.
  CHECK(bytes("kind=group groups=4 rows=100 columns=8 phase=bwd") ==
        4 * 3 * 800 + 4 * 3 * 8 + 4 * 2 * 400);
}

TEST_CASE("norm: each phase has its outputs") {
  using Names = std::vector<std::string>;
  CHECK(outputs("kind=batch rows=9 columns=4 phase=inference") == Names{"y"});
  CHECK(outputs("kind=batch rows=9 columns=4") == Names{"y", "mean", "deviation"});
  CHECK(outputs("kind=rms rows=9 columns=4") == Names{"y", "deviation"});
  CHECK(outputs("kind=layer rows=9 columns=4 phase=bwd") == Names{"dx", "dscale", "dshift"});
  CHECK(outputs("kind=rms rows=9 columns=4 phase=bwd") == Names{"dx", "dscale"});
}

TEST_CASE("norm: problems that make no sense are invalid") {
  CHECK_THROWS_AS(Problem::parse("norm kind=layer rows=0 columns=4"), InvalidProblem);
  CHECK_THROWS_AS(Problem::parse("norm kind=layer rows=4 columns=-1"), InvalidProblem);
  CHECK_THROWS_AS(Problem::parse("norm kind=instance rows=4 columns=4"), InvalidProblem);
  CHECK_THROWS_AS(Problem::parse("norm kind=layer rows=4 columns=4 groups=2"), InvalidProblem);
  CHECK_THROWS_AS(Problem::parse("norm kind=layer rows=4 columns=4 precision=int8"),
                  InvalidProblem);
  CHECK_THROWS_AS(Problem::parse("norm kind=layer rows=1000000000000 columns=1000000000000"),
                  InvalidProblem);
  CHECK_THROWS_WITH_AS(Problem::parse("norm kind=group rows=4 columns=10 groups=4"),
                       "groups=4 does not divide columns=10", InvalidProblem);
}

// Of sets of the elements first, first + step, ...
struct Naive {
  double mean = 0, deviation = 0;
  Naive(int64_t first, int64_t step, int64_t count, bool has_mean) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; ++i) sum += element(Norm::kXValues, first + i * step);
    if (has_mean) mean = sum / double(count);
    for (int64_t i = 0; i < count; ++i)
      squares += std::pow(element(Norm::kXValues, first + i * step) - mean, 2);
    deviation = 1 / std::sqrt(squares / double(count) + 1e-5);
  }
};

TEST_CASE("norm: y and the statistics follow the definition") {
  constexpr int64_t kRows = 6, kColumns = 8;
  for (const std::string kind : {"batch", "layer", "rms", "group"}) {
    CAPTURE(kind);
    const std::string line = "kind=" + kind + " rows=6 columns=8" +
                             (kind == "group" ? " groups=2" : "") + " phase=training";
    const ExpectedOutput y = expectation(line),
                         deviation = expectation(line, kind == "rms" ? 1 : 2);
    REQUIRE(y.indices.size() == kRows * kColumns);
    for (size_t at = 0; at < y.indices.size(); ++at) {
      const auto i = int64_t(y.indices[at]), row = i / kColumns, column = i % kColumns;
      const Naive set = kind == "batch"   ? Naive(column, kColumns, kRows, true)
                        : kind == "group" ? Naive(i / 4 * 4, 1, 4, true)
                                          : Naive(row * kColumns, 1, kColumns, kind == "layer");
      const double z = (element(Norm::kXValues, i) - set.mean) * set.deviation;
      const double shift = kind == "rms" ? 0 : element(Norm::kShiftValues, column);
      CHECK(y.values[at] ==
            doctest::Approx(element(Norm::kScaleValues, column) * z + shift).epsilon(1e-12));
      CHECK(y.bounds[at] < 1e-4);
      const auto number = size_t(kind == "batch" ? column : kind == "group" ? i / 4 : row);
      CHECK(deviation.values[number] == doctest::Approx(set.deviation).epsilon(1e-12));
    }
  }
}

// The sum of all y times a fixed weight each.
double weighted_y(const std::vector<double>& x, const std::string& kind, int64_t rows,
                  int64_t columns) {
  const bool batch = kind == "batch";
  const int64_t sets = batch ? columns : rows, count = batch ? rows : columns;
  double total = 0;
  for (int64_t set = 0; set < sets; ++set) {
    const auto at = [&](int64_t i) {
      return size_t(batch ? set + i * columns : set * columns + i);
    };
    double mean = 0, variance = 0;
    if (kind != "rms")
      for (int64_t i = 0; i < count; ++i) mean += x[at(i)] / double(count);
    for (int64_t i = 0; i < count; ++i) variance += std::pow(x[at(i)] - mean, 2) / double(count);
    for (int64_t i = 0; i < count; ++i)
      total += element(Norm::kDyValues, int64_t(at(i))) *
               element(Norm::kScaleValues, int64_t(at(i)) % columns) * (x[at(i)] - mean) /
               std::sqrt(variance + 1e-5);
  }
  return total;
}

TEST_CASE("norm: dx is the derivative of y") {
  constexpr double kStep = 1e-5;
  for (const std::string kind : {"batch", "layer", "rms"}) {
    const ExpectedOutput dx = expectation("kind=" + kind + " rows=5 columns=7 phase=bwd");
    std::vector<double> x(35);
    for (size_t i = 0; i < x.size(); ++i) x[i] = element(Norm::kXValues, int64_t(i));
    for (size_t at = 0; at < dx.indices.size(); ++at) {
      std::vector<double> more = x, less = x;
      more[dx.indices[at]] += kStep, less[dx.indices[at]] -= kStep;
      const double slope =
          (weighted_y(more, kind, 5, 7) - weighted_y(less, kind, 5, 7)) / (2 * kStep);
      CHECK(dx.values[at] == doctest::Approx(slope).epsilon(1e-4));
    }
  }
}

TEST_CASE("norm: the gradients of scale and shift are sums over the rows") {
  const std::string line = "kind=layer rows=5 columns=7 phase=bwd";
  const ExpectedOutput dscale = expectation(line, 1), dshift = expectation(line, 2);
  for (int64_t column = 0; column < 7; ++column) {
    double scale_sum = 0, shift_sum = 0;
    for (int64_t row = 0; row < 5; ++row) {
      const Naive set(row * 7, 1, 7, true);
      const double dy = element(Norm::kDyValues, row * 7 + column);
      scale_sum += dy * (element(Norm::kXValues, row * 7 + column) - set.mean) * set.deviation;
      shift_sum += dy;
    }
    CHECK(dscale.values[size_t(column)] == doctest::Approx(scale_sum).epsilon(1e-12));
    CHECK(dshift.values[size_t(column)] == doctest::Approx(shift_sum).epsilon(1e-12));
  }
}

TEST_CASE("norm: large problems are sampled and projected, whatever a set is") {
  for (const std::string kind : {"batch", "layer", "group groups=4"})
    for (const std::string phase : {"training", "bwd"}) {
      const ExpectedOutput all =
          expectation("kind=" + kind + " rows=300 columns=400 phase=" + phase);
      CAPTURE(kind);
      CHECK(all.outputs == 120000);
      REQUIRE(all.parts.size() == 64);
      const size_t of_set = kind == "group groups=4" ? 100 : 256;
      for (const ExpectedPart& part : all.parts) CHECK(part.count == of_set);
      CHECK(all.indices.size() >= 1 << 16);
      CHECK(all.indices.size() <= (1 << 16) + 64 * of_set);
      CHECK(std::set<uint64_t>(all.indices.begin(), all.indices.end()).size() ==
            all.indices.size());
      CHECK(all.projections.size() == 1);
      // Elements of dx are some 50 times as large as those of y.
      CHECK(all.projection_bounds[0] < (phase == "bwd" ? 1 : 0.02));
      CHECK(all.coverage ==
            std::to_string(all.indices.size()) + " of 120000 outputs and a projection of all");
    }
}

// The outputs of a column are a linear function of the few values of x in 16 bits: their roundings
// may all have one sign.
TEST_CASE("norm: the slopes of correctly rounded outputs are within their limits") {
  const Problem problem =
      Problem::parse("norm kind=batch rows=3000 columns=64 phase=inference precision=half");
  KernelConditions conditions;
  double largest_share = 0, largest_without = 0;
  for (conditions.verification_seed = 1; conditions.verification_seed <= 40;
       ++conditions.verification_seed) {
    const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
    REQUIRE(expected.parts.size() == 64);
    for (const ExpectedPart& part : expected.parts) {
      double excess = 0, squares = 0;
      for (size_t i = part.first; i < part.first + part.count; ++i) {
        const double r = expected.values[i];
        excess += (rounded_to(DEEPBENCH_F16, float(r)) - r) * r, squares += r * r;
      }
      const double slope = excess / squares;
      largest_share =
          std::max(largest_share, std::abs(slope - part.rounding_slope) / part.max_slope);
      largest_without = std::max(largest_without, std::abs(slope) / part.max_slope);
    }
  }
  CHECK(largest_share < 1e-6);
  CHECK(largest_without > 0.9);  // the roundings do not cancel
}

}  // namespace
}  // namespace deepbench
