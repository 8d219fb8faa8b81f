// Which calls repeat their bits, of four ranks.
#include "deepbench/run/row/repeated_calls.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "../../group/local_group.hpp"

namespace deepbench {
namespace {

using testing::connect_ranks;
using testing::run_on_every_rank;

constexpr int kRanks = 4;

std::vector<Metric> metric_of(const std::array<RepeatedCalls, kRanks>& calls) {
  std::array<std::vector<Metric>, kRanks> metrics;
  run_on_every_rank(connect_ranks(kRanks), [&](Group& group) {
    const auto rank = size_t(group.rank());
    metrics[rank] = bitwise_metric(group, calls[rank]);
  });
  CHECK(metrics[1].empty());
  return metrics[0];
}

TEST_CASE("calls with the same bits are those that repeat the first one on every rank") {
  std::array<RepeatedCalls, kRanks> calls;
  for (RepeatedCalls& rank : calls) rank = {{7, 7, 7, 7, 7}, {"a", "a", "a", "a", "a"}, {1}};
  calls[1].projections[2] = 8;
  calls[2].projections[2] = calls[2].projections[4] = 6;
  calls[3].samples[1] = "b";
  const std::vector<Metric> metrics = metric_of(calls);
  REQUIRE(metrics.size() == 1);
  CHECK(metrics[0].name == "bitwise");
  CHECK(metrics[0].unit == "/5");
  CHECK(metrics[0].value == 2);
}

TEST_CASE("ranks must have the same bits if they are expected to have the same results") {
  std::array<RepeatedCalls, kRanks> calls;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string sample = std::to_string(rank);
    calls[size_t(rank)] = {{1, 1}, {sample, sample}, {1, 2}};
  }
  CHECK(metric_of(calls).at(0).value == 0);
  calls[2].expected = {1, 3};
  CHECK(metric_of(calls).at(0).value == 2);
  CHECK(metric_of({}).empty());
}

TEST_CASE("ranks with the same bits may add them up in different orders") {
  std::array<RepeatedCalls, kRanks> calls;
  for (int rank = 0; rank < kRanks; ++rank)
    calls[size_t(rank)] = {{double(rank), double(rank)}, {"a", "a"}, {1}};
  CHECK(metric_of(calls).at(0).value == 2);
}

TEST_CASE("ranks that made different numbers of calls fail together") {
  const RepeatedCalls two = {{1, 1}, {"a", "a"}, {1}};
  for (const RepeatedCalls& other :
       {RepeatedCalls{{1}, {"a"}, {1}}, RepeatedCalls{{1, 1}, {"a"}, {1}}}) {
    std::array<std::string, 2> failures;
    run_on_every_rank(connect_ranks(2), [&](Group& group) {
      try {
        bitwise_metric(group, group.rank() == 1 ? other : two);
      } catch (const RowFailure& failure) {
        failures[size_t(group.rank())] = failure.what();
      }
    });
    CHECK_MESSAGE(
        failures[0].find("the ranks' messages at 'repeated calls' cannot be combined: ") == 0,
        failures[0]);
    CHECK(failures[1] == failures[0]);
  }
}

TEST_CASE("the expected results of ranks are the same of all_reduce and all_gather alone") {
  Attributes facts;
  facts.set("ranks", int64_t{2});
  for (const std::string op :
       {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_recv"}) {
    CAPTURE(op);
    const bool is_alike = op == "all_reduce" || op == "all_gather";
    for (const std::string elements : {"2", "1000"}) {
      const Problem problem = Problem::parse(op + " elements=" + elements + " precision=bfloat16");
      CHECK((expected_on_rank(problem, facts, 0) == expected_on_rank(problem, facts, 1)) ==
            is_alike);
    }
  }
}

}  // namespace
}  // namespace deepbench
