// Tests all_reduce: payload, bandwidths and the reference.
#include <doctest/doctest.h>

#include "../suite_totals.hpp"
#include "deepbench/ops/collective/collective.hpp"

namespace deepbench {
namespace {

using testing::suite_totals;

TEST_CASE("all_reduce: totals of the shipped set") {
  CHECK(suite_totals("training", "all_reduce").problems == 7);
  CHECK(suite_totals("training", "all_reduce").work.bytes == 534330884.0);
  CHECK(suite_totals("training", "all_reduce").work.flops == 0);
}

TEST_CASE("all_reduce: the payload follows the precision") {
  const auto bytes = [](const std::string& precision) {
    return collective_problem(Problem::parse("all_reduce elements=1000 precision=" + precision))
        .bytes();
  };
  CHECK(bytes("float") == 4000);
  CHECK(bytes("half") == 2000);
  CHECK(bytes("int8") == 4000);  // sums are int32
}

TEST_CASE("all_reduce: in_place is printed where it is not the default") {
  const Problem plain = Problem::parse("all_reduce elements=4 in_place=no");
  CHECK(plain.str() == "all_reduce elements=4 precision=float");
  const Problem in_place = Problem::parse("all_reduce elements=4 precision=half in_place=yes");
  CHECK(in_place.str() == "all_reduce elements=4 precision=half in_place=yes");
  CHECK(collective_problem(in_place).in_place);
}

TEST_CASE("all_reduce: bandwidths follow the definitions of nccl-tests") {
  const Problem problem = Problem::parse("all_reduce elements=1000");
  Attributes facts;
  facts.set("ranks", int64_t{4});
  const auto metrics = problem.operation().derived_metrics(problem, facts, 2000);
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0].name == "algbw");
  CHECK(metrics[0].value == 2);
  CHECK(metrics[1].name == "busbw");
  CHECK(metrics[1].value == 3);
}

TEST_CASE("all_reduce: sums of the generator's summands are exact for any number of ranks") {
  for (const deepbench_type type : {DEEPBENCH_F32, DEEPBENCH_F16, DEEPBENCH_BF16}) {
    const double exact = type == DEEPBENCH_F16 ? 2048 : type == DEEPBENCH_BF16 ? 256 : 1 << 24;
    for (const uint32_t ranks : {2u, 3u, 255u, 256u, 257u, 1024u, 3000u}) {
      for (uint64_t index = 0; index < 20; ++index) {
        double most = 0;  // bounds any partial sum in any order
        for (uint32_t rank = 0; rank < ranks; ++rank) {
          const double one = double(deepbench_summand(type, 1, rank, ranks, index));
          most += std::abs(one);
          REQUIRE(one == std::floor(one));
        }
        REQUIRE(most <= exact);
        REQUIRE(most > 0);
      }
    }
  }
}

TEST_CASE("all_reduce: the reference is the sum for every local rank") {
  const Problem problem = Problem::parse("all_reduce elements=5 precision=half");
  KernelConditions conditions;
  conditions.facts.set("ranks", int64_t{3});
  conditions.facts.set("local_ranks", int64_t{2});
  const ExpectedOutput expected = problem.operation().expected_output(problem, conditions);
  CHECK(expected.outputs == 10);
  std::vector<double> values(10);
  expected.exact_values(0, 10, values.data());
  for (uint64_t i = 0; i < 10; ++i) {
    double sum = 0;
    for (uint32_t rank = 0; rank < 3; ++rank)
      sum += double(deepbench_summand(DEEPBENCH_F16, 1, rank, 3, i % 5));
    CHECK(values[i] == sum);
  }
}

}  // namespace
}  // namespace deepbench
