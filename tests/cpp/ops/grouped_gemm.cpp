// Tests grouped_gemm: useful work, the split of the rows, and the reference against the definition.
#include "deepbench/ops/grouped_gemm/grouped_gemm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../cpu/naive_grouped_gemm.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

using testing::NaiveGroupedGemm;
using testing::parse_grouped_gemm;

std::vector<int64_t> split(const std::string& attributes) {
  const GroupedGemm problem = parse_grouped_gemm(attributes);
  std::vector<int64_t> rows;
  for (int64_t group = 0; group < problem.groups; ++group) rows.push_back(problem.rows_of(group));
  CHECK(std::accumulate(rows.begin(), rows.end(), int64_t{0}) == problem.rows);
  return rows;
}

TEST_CASE("grouped_gemm: rows are split equally, the first groups have one row more") {
  CHECK(split("groups=4 rows=10 n=1 k=1") == std::vector<int64_t>{3, 3, 2, 2});
  CHECK(split("groups=4 rows=2 n=1 k=1") == std::vector<int64_t>{1, 1, 0, 0});
}

TEST_CASE("grouped_gemm: drawn splits follow from the seed and have their probabilities") {
  const std::string drawn = "groups=8 rows=100000 n=1 k=1 split=";
  for (const std::string kind : {"multinomial", "zipf"}) {
    CHECK(split(drawn + kind) == split(drawn + kind + " split_seed=0"));
    CHECK(split(drawn + kind) != split(drawn + kind + " split_seed=1"));
    double sum_of_weights = 0;
    for (int group = 0; group < 8; ++group)
      sum_of_weights += kind == "zipf" ? 1.0 / (group + 1) : 1;
    const std::vector<int64_t> rows = split(drawn + kind);
    for (size_t group = 0; group < 8; ++group) {
      const double share = (kind == "zipf" ? 1.0 / double(group + 1) : 1) / sum_of_weights;
      const double deviation = std::sqrt(100000 * share * (1 - share));
      CHECK(std::abs(double(rows[group]) - 100000 * share) < 5 * deviation);
    }
  }
  // The same on every machine: results of two machines are compared by these names.
  CHECK(split("groups=6 rows=20 n=1 k=1 split=multinomial split_seed=7") ==
        std::vector<int64_t>{3, 5, 4, 3, 1, 4});
  CHECK(split("groups=6 rows=20 n=1 k=1 split=zipf split_seed=7") ==
        std::vector<int64_t>{10, 5, 3, 0, 1, 1});
}

TEST_CASE("grouped_gemm: work counts the rows, and the matrices of groups that have rows") {
  const auto work = [](const std::string& attributes) {
    const Problem problem = Problem::parse("grouped_gemm " + attributes);
    return problem.operation().work(problem);
  };
  const Work all = work("groups=4 rows=10 n=3 k=5");
  CHECK(all.flops == 2 * 10 * 3 * 5);
  CHECK(all.bytes == 4 * (10 * 5 + 4 * 3 * 5 + 10 * 3));
  CHECK(work("groups=4 rows=2 n=3 k=5 precision=half").bytes == 2 * (2 * 5 + 2 * 3 * 5 + 2 * 3));
}

TEST_CASE("grouped_gemm: the seed is silent at its default, and refused where nothing is drawn") {
  const auto text = [](const std::string& attributes) {
    return Problem::parse("grouped_gemm groups=4 rows=10 n=3 k=5 " + attributes).str();
  };
  const std::string start = "grouped_gemm groups=4 rows=10 n=3 k=5 split=";
  CHECK(text("") == start + "uniform precision=float");
  CHECK(text("split=zipf split_seed=0") == start + "zipf precision=float");
  CHECK(text("split=zipf split_seed=3") == start + "zipf split_seed=3 precision=float");
  CHECK_THROWS_WITH_AS(text("split_seed=3"),
                       "split_seed is a parameter only where rows draw their groups; use "
                       "split=multinomial or split=zipf",
                       InvalidProblem);
}

TEST_CASE("grouped_gemm: impossible sizes are refused in one line") {
  for (const std::string attributes :
       {"groups=0 rows=1 n=1 k=1", "groups=1 rows=0 n=1 k=1", "groups=1 rows=-3 n=1 k=1",
        "groups=1 rows=16777217 n=1 k=1", "groups=65537 rows=1 n=1 k=1",
        "groups=1000 rows=1000 n=4000000000 k=4000000000", "groups=2 rows=4 n=1 k=1 split=equal",
        "groups=2 rows=4 n=1"}) {
    CAPTURE(attributes);
    CHECK_THROWS_AS(Problem::parse("grouped_gemm " + attributes), InvalidProblem);
  }
}

TEST_CASE("grouped_gemm: default problems are valid for devices of every kind") {
  const Operation& operation = find_operation("grouped_gemm");
  Attributes device;
  device.set("shares_host_memory", int64_t{0});
  for (const Attributes& facts : {Attributes(), device}) {
    CHECK(operation.default_problems(facts).size() >= 4);
    for (const std::string& line : operation.default_problems(facts))
      CHECK(Problem::parse(line).op() == "grouped_gemm");
  }
  CHECK(operation.default_problems(device) != operation.default_problems({}));
}

TEST_CASE("grouped_gemm: the reference of small problems equals the definition for every output") {
  for (const std::string rest :
       {"split=multinomial", "precision=half", "precision=bfloat16", "split=zipf"}) {
    const Problem problem = Problem::parse("grouped_gemm groups=5 rows=13 n=7 k=9 " + rest);
    CAPTURE(problem.str());
    KernelConditions conditions;
    conditions.seed = 3;
    const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
    const NaiveGroupedGemm naive(grouped_gemm_problem(problem), 3);
    CHECK(expected.coverage == "all 91 outputs");
    REQUIRE(expected.indices.size() == 91);
    for (size_t i = 0; i < 91; ++i) {
      const auto index = int64_t(expected.indices[i]);
      CHECK(expected.values[i] ==
            doctest::Approx(naive.sums(index / 7, index % 7).products).epsilon(1e-14));
      CHECK(expected.bounds[i] > 0);
      CHECK(expected.bounds[i] < 0.1);
    }
  }
}

TEST_CASE("grouped_gemm: every group of a larger problem is sampled, and all are projected") {
  const Problem problem = Problem::parse("grouped_gemm groups=24 rows=700 n=90 k=310 split=zipf");
  const GroupedGemm of = grouped_gemm_problem(problem);
  const NaiveGroupedGemm naive(of, 1);
  const ExpectedOutput expected = problem.operation().expected_output(problem, {});
  CHECK(expected.outputs == 700 * 90);
  CHECK(expected.indices.size() < expected.outputs / 4);
  for (int64_t group = 0; group < 24; ++group) {
    if (of.rows_of(group) == 0) continue;
    for (const int64_t row : {of.first_row(group), of.first_row(group + 1) - 1})
      for (const int64_t column : {0, 89})
        CHECK(std::count(expected.indices.begin(), expected.indices.end(),
                         uint64_t(column + row * 90)) == 1);
  }
  for (size_t i = 0; i < expected.indices.size(); i += 97) {
    const auto index = int64_t(expected.indices[i]);
    CHECK(expected.values[i] ==
          doctest::Approx(naive.sums(index / 90, index % 90).products).epsilon(1e-14));
  }
  REQUIRE(expected.projection_rows == 90);
  for (const int64_t column : {0, 44, 89}) {
    double sum = 0;
    for (int64_t row = 0; row < 700; ++row)
      sum += naive.sums(row, column).products *
             deepbench_weight(expected.projection_seed, uint64_t(row));
    CHECK(std::abs(expected.projections[size_t(column)] - sum) <=
          expected.projection_bounds[size_t(column)]);
    CHECK(expected.projection_bounds[size_t(column)] < 1e-2);
  }
}

}  // namespace
}  // namespace deepbench
