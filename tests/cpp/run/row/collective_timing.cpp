// Several ranks: four threads with clocks of their own take the same decisions.
#include "deepbench/run/row/collective_timing.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <thread>

#include "../../fake_backend.hpp"
#include "../../group/local_group.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/audit.hpp"
#include "deepbench/measure/measure.hpp"

namespace deepbench {
namespace {

using testing::connect_ranks;
using testing::run_on_every_rank;
using testing::scripted_clock;

constexpr int kRanks = 4;

struct RankOutcomes {
  std::array<Samples, kRanks> samples;
  std::array<std::string, kRanks> failures;
};

RankOutcomes measure_on_ranks(const std::array<std::string, kRanks>& scripts,
                              const MeasureOptions& options = {}) {
  std::array<BatchTimer, kRanks> clocks;
  for (size_t rank = 0; rank < kRanks; ++rank) clocks[rank] = scripted_clock(scripts[rank]);
  RankOutcomes outcome;
  run_on_every_rank(connect_ranks(kRanks), [&](Group& group) {
    const auto rank = size_t(group.rank());
    const auto time = [&](uint64_t count) {
      return slowest_batch(&group, count, [&] { return clocks[rank](count); });
    };
    try {
      outcome.samples[rank] = measure(time, options);
    } catch (const RowFailure& failure) {
      outcome.failures[rank] = failure.what();
    }
  });
  return outcome;
}

TEST_CASE("four ranks end with the same samples: the slowest rank's of every batch") {
  // Rank 1 and rank 2 take turns at being slow; rank 3 is quick, with 1 us of host time a batch.
  const RankOutcomes outcome = measure_on_ranks(
      {"time 50000 900 hold", "time 900 1000", "time 1000 900", "time 700; host 1000"});
  for (const Samples& samples : outcome.samples) {
    CHECK(samples.first_call_ns == 50000);
    CHECK(samples.batch == 200);
    CHECK(samples.per_call_ns == std::vector<double>(100, 1000));
    CHECK(samples.stop == StopReason::kConverged);
    CHECK(samples.spent_ns == 50000 + 1700 + 120 * 200e3);
    CHECK(samples.error == 1.0 / (1000 * 200));
    CHECK(samples.host_per_call_ns == 1000);
  }
}

TEST_CASE("ranks with noise of their own agree on every decision") {
  const RankOutcomes outcome = measure_on_ranks(
      {"time 2e6; noise 1 0.1", "time 2e6; noise 2 0.1; mhz 1500*60 1000*3 1500 hold",
       "time 1.9e6; noise 3 0.2", "time 2e6; noise 4 0.1; flags 0*70 1 0 hold"});
  const Samples& first = outcome.samples[0];
  CHECK(first.per_call_ns.size() > 10);
  CHECK(first.retries == 1);  // rank 3's flag; a clock that one rank alone knows judges nothing
  for (const Samples& samples : outcome.samples) {
    CHECK(samples.per_call_ns == first.per_call_ns);
    CHECK(samples.stop == first.stop);
    CHECK(samples.batch == first.batch);
    CHECK(samples.error == first.error);
    CHECK(samples.retries == first.retries);
  }
}

TEST_CASE("a rank that is throttled makes all of them repeat") {
  const RankOutcomes outcome = measure_on_ranks({"time 2e6; mhz 1500", "time 2e6; mhz 1500",
                                                 "time 2e6; mhz 1500; flags 0*25 1*2 0 hold",
                                                 "time 2e6; mhz 1500*30 1000 1500 hold"});
  for (const Samples& samples : outcome.samples) {
    CHECK(samples.retries == 3);
    CHECK(samples.throttled == 0);
    CHECK(samples.per_call_ns == std::vector<double>(10, 2e6));
  }
}

// Ranks whose calls take 1 us by their own clocks. The host of rank 2 sees twice as much time pass,
// or half of it.
std::array<std::string, kRanks> clock_notes(double watched_by_rank_2) {
  std::array<std::string, kRanks> notes;
  run_on_every_rank(connect_ranks(kRanks), [&](Group& group) {
    const double watched = group.rank() == 2 ? watched_by_rank_2 : 1;
    const BatchTimer time = [&](uint64_t count) {
      return slowest_batch(&group, count, [&] {
        Batch batch;
        batch.count = count;
        batch.elapsed_ns = batch.own_elapsed_ns = 1000 * double(count) + group.rank();
        batch.host_ns = batch.elapsed_ns;
        batch.watched_ns = 1000 * watched * double(count) + group.rank();
        return batch;
      });
    };
    const auto any = [&](bool mine) { return is_true_on_any_rank(&group, "any", mine); };
    const MeasureOptions options;
    const Samples samples = measure(time, options);
    CHECK(samples.own_elapsed_ns <= samples.elapsed_ns);
    CHECK(is_clock_slow(samples) == (watched > 1.6));
    CHECK(is_clock_fast(samples, options) == (watched < 0.9));
    std::string note = doubt_about_slow_clock(time, samples, options, any).why;
    if (watched_by_rank_2 < 1) note = doubt_about_fast_clock(time, samples, options, any).why;
    notes[size_t(group.rank())] = first_text_of_ranks(&group, "note", note);
  });
  return notes;
}

TEST_CASE("each rank compares its own clocks, and the note names the rank") {
  for (const std::string& note : clock_notes(2))
    CHECK_MESSAGE(
        note.find("rank 2: 100 calls take 100 us by the backend's clock and 200 us by") == 0, note);
  for (const std::string& note : clock_notes(0.5))
    CHECK_MESSAGE(note.find("rank 2: 200 calls take 200 us by the backend's clock, and the host "
                            "saw only 100 us") == 0,
                  note);
  for (const std::string& note : clock_notes(1)) CHECK(note.empty());
}

// The failure on each rank of `body`, "" if there is none.
std::array<std::string, kRanks> failures_of(const std::function<void(Group& group)>& body) {
  std::array<std::string, kRanks> failures;
  run_on_every_rank(connect_ranks(kRanks), [&](Group& group) {
    try {
      body(group);
    } catch (const RowFailure& failure) {
      failures[size_t(group.rank())] = failure.what();
    }
  });
  return failures;
}

TEST_CASE("a rank that sends an impossible time is named on all ranks") {
  for (const double ns : {std::numeric_limits<double>::infinity(), std::nan(""), -1.0, 0.0, 1e19}) {
    CAPTURE(ns);
    const auto failures = failures_of([&](Group& group) {
      slowest_batch(&group, 1, [&] {
        Batch batch;
        batch.count = 1;
        batch.elapsed_ns = group.rank() == 2 ? ns : 1000;
        batch.host_ns = 1000;
        return batch;
      });
    });
    for (const std::string& failure : failures)
      CHECK(
          failure ==
          "the ranks' messages at 'batch of 1' cannot be combined: rank 2 sent an impossible time");
  }
}

TEST_CASE("single calls of which a rank has none, fewer or an impossible one fail on all ranks") {
  const std::string start = "the ranks' messages at 'single calls' cannot be combined: ";
  const auto failure_if_rank_2_has = [](const std::vector<double>& calls_ns) {
    const auto failures = failures_of([&](Group& group) {
      rank_metrics(group, group.rank() == 2 ? calls_ns : std::vector<double>{1, 2, 3});
    });
    for (const std::string& failure : failures) CHECK(failure == failures[0]);
    return failures[0];
  };
  const std::string uneven = start + "the ranks have timed different numbers of calls";
  CHECK(failure_if_rank_2_has({}) == uneven);
  CHECK(failure_if_rank_2_has({1, 2}) == uneven);
  CHECK(failure_if_rank_2_has({1, 2, std::nan("")}) == start + "a rank sent an impossible time");
  CHECK(failure_if_rank_2_has({1, 2, 4}).empty());
}

TEST_CASE("ranks keep the smallest of their values, each for itself") {
  const auto failures = failures_of([](Group& group) {
    const double rank = group.rank();
    CHECK(smallest_of_ranks(&group, "values", {rank, 10 - rank, -rank}) ==
          std::vector<double>{0, 7, -3});
  });
  for (const std::string& failure : failures) CHECK(failure.empty());
  for (const std::vector<double>& sent : {std::vector<double>{std::nan("")}, std::vector<double>{}})
    for (const std::string& failure : failures_of([&](Group& group) {
           smallest_of_ranks(&group, "values", group.rank() == 1 ? sent : std::vector<double>{1});
         }))
      CHECK(failure == std::string("the ranks' messages at 'values' cannot be combined: ") +
                           (sent.empty() ? "the ranks have sent different numbers of values"
                                         : "rank 1 sent an impossible value"));
  CHECK(smallest_of_ranks(nullptr, "values", {1, 2}) == std::vector<double>{1, 2});
}

TEST_CASE("without ranks their answers are this process's own") {
  CHECK(is_true_on_any_rank(nullptr, "step", true));
  CHECK_FALSE(is_true_on_any_rank(nullptr, "step", false));
  CHECK(first_text_of_ranks(nullptr, "step", "why") == "why");
}

TEST_CASE("a failure on one rank ends all of them with its reason") {
  for (int batch : {0, 1, 10, 25}) {
    const std::string failing =
        "time 2e6; from " + std::to_string(batch) + " fail time_batch failed the cable is out";
    const RankOutcomes outcome = measure_on_ranks({"time 2e6", "time 2e6", failing, "time 2e6"});
    for (const std::string& failure : outcome.failures)
      CHECK(failure == "rank 2: time_batch: the cable is out");
  }
}

// As a backend waits in a call that one rank will never come to.
Batch wait_for_other_ranks(Group& group, std::atomic<int>& waiting) {
  ++waiting;
  Deadline limit(30);
  while (!group.must_abort_call())
    if (limit.left_s() == 0) throw RowFailure(Status::kFailed, "nobody has told");
  throw RowFailure(Status::kDeviceLost, "the sum was given up");
}

TEST_CASE("a rank that fails within a call brings all out of it at once, with its reason") {
  for (const int broken : {0, 1, 3}) {
    std::array<std::string, kRanks> failures;
    std::atomic<int> waiting{0};
    run_on_every_rank(connect_ranks(kRanks), [&](Group& group) {
      const auto row = [&] {
        slowest_batch(&group, 7, [&] {
          if (group.rank() != broken) return wait_for_other_ranks(group, waiting);
          while (waiting < kRanks - 1) std::this_thread::yield();
          throw RowFailure(Status::kFailed, "the launch failed");
        });
      };
      try {
        group.collective_step(AbortScope::kRow, "row", row);
      } catch (const RowFailure& failure) {
        failures[size_t(group.rank())] = failure.what();
        CHECK(failure.status() == Status::kDeviceLost);  // what the sum went through is halfway
      }
      CHECK_FALSE(group.must_abort_call());
      group.collective_step(AbortScope::kRow, "next",
                            [&] { CHECK_FALSE(group.must_abort_call()); });
    });
    const std::string whose = broken == 0 ? "" : "rank " + std::to_string(broken) + ": ";
    for (const std::string& failure : failures) CHECK(failure == whose + "the launch failed");
  }
}

TEST_CASE("who gives up what it has left behind, after a failure of its own, still says why") {
  for (const int late : {0, 1}) {
    std::array<std::string, 2> failures;
    run_on_every_rank(connect_ranks(2), [&](Group& group) {
      const auto give_up = [&](void*) {
        Deadline limit(30);
        while (!group.must_abort_call() && limit.left_s() > 0) std::this_thread::yield();
      };
      try {
        group.collective_step(AbortScope::kRow, "row", [&] {
          if (group.rank() != late) throw RowFailure(Status::kFailed, "the other has not come");
          const std::unique_ptr<Group, decltype(give_up)> left_behind(&group, give_up);
          Problem::parse("");  // fails within the library, as backends' failures do
        });
      } catch (const RowFailure& failure) {
        failures[size_t(group.rank())] = failure.what();
        CHECK(failure.status() == Status::kDeviceLost);
      }
    });
    // Rank 0's comes first.
    for (const std::string& failure : failures)
      CHECK(failure == (late == 0 ? "the problem is empty" : "the other has not come"));
  }
}

TEST_CASE("ranks that wait for the end of a round have nothing to give up") {
  run_on_every_rank(connect_ranks(2), [&](Group& group) {
    group.collective_step(AbortScope::kRow, "row", [&] {
      for (int batch = 0; batch < 200; ++batch)
        slowest_batch(&group, 1, [&] {
          CHECK_FALSE(group.must_abort_call());
          Batch batch;
          batch.count = 1, batch.elapsed_ns = batch.host_ns = 1000;
          return batch;
        });
    });
  });
}

TEST_CASE("single calls tell which rank is slow, and by how much") {
  std::array<std::vector<Metric>, kRanks> metrics;
  run_on_every_rank(connect_ranks(kRanks), [&](Group& group) {
    std::vector<double> mine_ns = {100, 100, 100, 100, 100};
    if (group.rank() == 2) mine_ns = {120, 120, 125, 120, 500};
    if (group.rank() == 3) mine_ns = {75, 75, 200, 75, 75};
    metrics[size_t(group.rank())] = rank_metrics(group, mine_ns);
  });
  REQUIRE(metrics[0].size() == 4);
  CHECK(metrics[0][0].name == "call_p50");
  CHECK(metrics[0][0].value == 120);  // of 120 120 200 120 500
  CHECK(metrics[0][1].value > 480);
  CHECK(metrics[0][2].value == 2);
  CHECK(metrics[0][3].value == 37.5);
  CHECK(metrics[1].empty());
}

TEST_CASE("what one rank cannot begin, none does") {
  std::array<std::string, kRanks> refusals;
  run_on_every_rank(connect_ranks(kRanks), [&](Group& group) {
    try {
      start_collectively(&group, [&] {
        if (group.rank() == 3) throw BackendUnavailable("no such library");
      });
    } catch (const BackendUnavailable& error) {
      refusals[size_t(group.rank())] = error.what();
    }
  });
  for (const std::string& refusal : refusals) CHECK(refusal == "rank 3: no such library");
}

}  // namespace
}  // namespace deepbench
