// Tests the collectives: sizes, bandwidths, validity and the reference.
#include "deepbench/ops/collective/collective.hpp"

#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

Problem problem_of(const std::string& op, int64_t elements,
                   const std::string& precision = "float") {
  return Problem::parse(op + " elements=" + std::to_string(elements) + " precision=" + precision);
}

std::vector<double> expected_results(const Problem& problem, int rank, int ranks,
                                     int local_ranks = 1) {
  KernelConditions conditions;
  conditions.rank = rank;
  conditions.facts.set("ranks", int64_t{ranks});
  conditions.facts.set("local_ranks", int64_t{local_ranks});
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  CHECK(expected.initial_values.empty());
  std::vector<double> values(expected.outputs);
  expected.exact_values(0, expected.outputs, values.data());
  return values;
}

double value_of(deepbench_type type, int rank, int64_t index) {
  return deepbench_element(type, 1, uint32_t(rank), uint64_t(index));
}

TEST_CASE("collectives: bandwidths follow the definitions of nccl-tests") {
  const std::map<std::string, double> shares = {{"all_reduce", 1.5},      {"all_gather", 0.75},
                                                {"reduce_scatter", 0.75}, {"all_to_all", 0.75},
                                                {"broadcast", 1},         {"send_recv", 1}};
  CHECK(shares.size() == kCollectives.size());
  for (const NamedCollective& one : kCollectives) {
    const Problem problem = problem_of(std::string(one.name), 1000);
    CAPTURE(problem.str());
    CHECK(problem.operation().is_collective());
    CHECK(problem.operation().work(problem).bytes == 4000);
    CHECK(problem.operation().work(problem).flops == 0);
    Attributes facts;
    facts.set("ranks", int64_t{4});
    const auto metrics = problem.operation().derived_metrics(problem, facts, 2000);
    REQUIRE(metrics.size() == 2);
    CHECK(metrics[0].value == 2);
    CHECK(metrics[1].value == 2 * shares.at(std::string(one.name)));
  }
}

TEST_CASE("collectives: all but all_reduce, which has suites, have default problems") {
  for (const NamedCollective& one : kCollectives) {
    const Operation& operation = find_operation(one.name);
    const auto lines = operation.default_problems({});
    CHECK(lines.empty() == (one.name == "all_reduce"));
    CHECK(operation.default_problems_help().empty() == lines.empty());
    for (const std::string& line : lines) {
      const Problem problem = Problem::parse(line);
      CHECK(problem.op() == one.name);
      for (const int64_t ranks : {2, 4, 8}) CHECK(problem.integer("elements") % ranks == 0);
    }
  }
}

TEST_CASE("collectives: only all_reduce can be in place") {
  CHECK_THROWS_AS(Problem::parse("all_gather elements=4 in_place=yes"), InvalidProblem);
  CHECK(collective_problem(Problem::parse("all_reduce elements=4 in_place=yes")).in_place);
}

TEST_CASE("all_gather: every rank holds the blocks in order of rank") {
  for (const int rank : {0, 2}) {
    const auto values = expected_results(problem_of("all_gather", 12, "half"), rank, 3);
    REQUIRE(values.size() == 12);
    for (int i = 0; i < 12; ++i) CHECK(values[size_t(i)] == value_of(DEEPBENCH_F16, i / 4, i % 4));
  }
}

TEST_CASE("reduce_scatter: a rank holds the sums of its block, and local ranks follow in order") {
  const auto values = expected_results(problem_of("reduce_scatter", 12), 1, 3, 2);
  REQUIRE(values.size() == 8);
  for (int i = 0; i < 8; ++i) {
    double sum = 0;
    for (uint32_t rank = 0; rank < 3; ++rank)
      sum += double(deepbench_summand(DEEPBENCH_F32, 1, rank, 3, uint64_t(4 + i)));
    CHECK(values[size_t(i)] == sum);
  }
}

TEST_CASE("all_to_all: a rank holds its block of every rank") {
  const auto values = expected_results(problem_of("all_to_all", 12, "bfloat16"), 2, 3);
  REQUIRE(values.size() == 12);
  for (int i = 0; i < 12; ++i)
    CHECK(values[size_t(i)] == value_of(DEEPBENCH_BF16, i / 4, 8 + i % 4));
}

TEST_CASE(
    "broadcast: every rank but the last, which has no result, holds the last one's elements") {
  for (const int rank : {0, 1})
    for (int i = 0; i < 5; ++i)
      CHECK(expected_results(problem_of("broadcast", 5), rank, 3)[size_t(i)] ==
            value_of(DEEPBENCH_F32, 2, i));
  CHECK(expected_results(problem_of("broadcast", 5), 2, 3).empty());
  CHECK(expected_results(problem_of("broadcast", 5), 0, 3, 3).size() == 10);
}

TEST_CASE("send_recv: a rank holds the elements of the one before it") {
  for (const int rank : {0, 1, 2})
    for (int i = 0; i < 5; ++i)
      CHECK(expected_results(problem_of("send_recv", 5), rank, 3)[size_t(i)] ==
            value_of(DEEPBENCH_F32, (rank + 2) % 3, i));
}

}  // namespace
}  // namespace deepbench
