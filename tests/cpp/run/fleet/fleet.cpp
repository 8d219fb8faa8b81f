// Ranks that make a row each on its own device: what is judged of them, and that nobody waits for
// one that has failed.
#include <doctest/doctest.h>

#include <array>
#include <atomic>

#include "../../fake_backend.hpp"
#include "../../group/local_group.hpp"
#include "deepbench/run/fleet/fleet_coordinator.hpp"
#include "deepbench/run/fleet/fleet_json.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/session/core_binding.hpp"

namespace deepbench {
namespace {

using testing::connect_ranks;
using testing::run_on_every_rank;

RankResult ok_rank(double ns, double half = 0.001) {
  RankResult figures;
  figures.median_ns = ns;
  figures.low_ns = ns * (1 - half), figures.high_ns = ns * (1 + half);
  return figures;
}

RankResult failed_rank(Status status, const std::string& reason) {
  RankResult figures;
  figures.status = status;
  figures.reason = reason;
  return figures;
}

std::vector<RankDevice> rank_devices(size_t count) {
  std::vector<RankDevice> all;
  for (size_t rank = 0; rank < count; ++rank)
    all.push_back({"node" + std::to_string(rank / 2), int64_t(rank % 2), "X100", ""});
  return all;
}

FleetSummary summarize_fleet_of(std::vector<RankResult> ranks) {
  const size_t count = ranks.size();
  return summarize_fleet(std::move(ranks), rank_devices(count));
}

TEST_CASE("a fleet's row is its representative's, and its spread from quickest to slowest") {
  const FleetSummary odd =
      summarize_fleet_of({ok_rank(103), ok_rank(100), ok_rank(98), ok_rank(101), ok_rank(99)});
  CHECK(odd.representative == 1);
  CHECK(odd.median_ns == 100);
  CHECK(odd.fastest == 2);
  CHECK(odd.slowest == 0);
  CHECK(odd.spread == doctest::Approx(0.05));
  CHECK(odd.outliers.empty());
  const FleetSummary even = summarize_fleet_of({ok_rank(104), ok_rank(100)});
  CHECK(even.representative == 1);
  CHECK(even.median_ns == 102);
  CHECK(even.outlier_limit == 0);
}

TEST_CASE("an outlier is beyond 3 % and five scaled MADs, by its whole interval") {
  std::vector<RankResult> ranks(8, ok_rank(100));
  ranks[5] = ok_rank(108.1);
  const FleetSummary slow = summarize_fleet_of(ranks);
  CHECK(slow.outlier_limit == 0.03);
  REQUIRE(slow.outliers.size() == 1);
  CHECK(slow.outliers[0].rank == 5);
  CHECK(slow.outliers[0].deviation == doctest::Approx(0.081));

  ranks[5] = ok_rank(102.9);
  CHECK(summarize_fleet_of(ranks).outliers.empty());
  ranks[5] = ok_rank(108.1, 0.06);  // it may be as slow as 101.6
  CHECK(summarize_fleet_of(ranks).outliers.empty());
  ranks[5] = ok_rank(90);
  CHECK(summarize_fleet_of(ranks).outliers.at(0).deviation == doctest::Approx(-0.1));

  const FleetSummary spread = summarize_fleet_of(
      {ok_rank(98), ok_rank(99), ok_rank(100), ok_rank(101), ok_rank(102), ok_rank(107)});
  CHECK(spread.outlier_limit == doctest::Approx(5 * 1.4826 * 1.5 / 100.5));
  CHECK(spread.outliers.empty());
}

TEST_CASE("one rank's failure is the row's, with its place; what all say is said of none") {
  const auto incorrect = failed_rank(Status::kIncorrect, "output 3 is 4");
  const FleetSummary one =
      summarize_fleet_of({ok_rank(100), ok_rank(101), failed_rank(Status::kOutOfMemory, "5 GiB"),
                          incorrect, ok_rank(99)});
  CHECK(one.status == Status::kIncorrect);
  CHECK(one.reason == "rank 3 (node1, device 1): output 3 is 4");
  CHECK(one.representative == 0);
  CHECK(one.median_ns == 100);
  const FleetSummary two = summarize_fleet_of({ok_rank(1), incorrect, incorrect});
  CHECK(two.reason == "rank 1 (node0, device 1): output 3 is 4 (and 1 more ranks)");
  const auto lost = failed_rank(Status::kDeviceLost, "fell off");
  CHECK(summarize_fleet_of({ok_rank(1), incorrect, lost}).status == Status::kDeviceLost);
  const FleetSummary all =
      summarize_fleet_of(std::vector<RankResult>(3, failed_rank(Status::kUnsupported, "no int8")));
  CHECK(all.status == Status::kUnsupported);
  CHECK(all.reason == "no int8");
  CHECK(all.representative == -1);
}

TEST_CASE("ranks that ran something else than most count for nothing") {
  std::vector<RankResult> ranks(5, ok_rank(100));
  for (RankResult& one : ranks) one.algorithm = "lib fast";
  ranks[0] = ok_rank(200), ranks[4] = ok_rank(300);
  const FleetSummary fleet = summarize_fleet_of(ranks);
  CHECK(fleet.median_ns == 100);
  CHECK(fleet.slowest == 3);
  CHECK(fleet.outliers.empty());
  CHECK(fleet.other_algorithm_ranks == std::vector<int>{0, 4});
  CHECK(fleet_json(fleet).find("\"mismatched\": [0, 4]") != std::string::npos);
  CHECK(fleet_json(summarize_fleet_of({ok_rank(100), ok_rank(101)})).find("\"mismatched\": null") !=
        std::string::npos);
}

TEST_CASE("a time that was not verified is kept and counts for nothing") {
  RankResult wrong = ok_rank(50);
  wrong.status = Status::kIncorrect;
  const FleetSummary fleet = summarize_fleet_of({wrong, ok_rank(100), ok_rank(101)});
  CHECK(fleet.representative == 1);
  CHECK(fleet.fastest == 1);
  CHECK(summarize_fleet_of({wrong, wrong}).representative == 0);
}

TEST_CASE("who has failed keeps nobody waiting, and those that are done go on until all are") {
  std::array<MergedFleet, 3> merged;
  std::array<int, 3> extra{};
  std::atomic<bool> begun{false};
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    const auto rank = size_t(group.rank());
    FleetCoordinator row(group, rank == 0 ? rank_devices(3) : std::vector<RankDevice>(),
                         "c" + std::to_string(rank));
    if (rank == 1) {
      merged[1] = row.merge(failed_rank(Status::kFailed, "no room"), Findings());
      return;
    }
    CHECK(row.agree_on_candidate() == "c0");
    row.start_barrier();
    while (rank == 2 && !begun) {
    }
    row.end_barrier([&] { ++extra[rank], begun = true; });
    Samples samples;
    samples.per_call_ns = {double(10 * rank), 7};
    samples.stop = StopReason::kNoisy;
    samples.batches_per_sample = 12, samples.schedule_perturbed = rank == 2;
    Findings found;
    Measurement& mine = found.measurement.emplace();
    mine.samples = samples;
    found.sensors.observed.set("power_w", 1.5 * double(rank));
    found.sensors.notes = {"sensors"};
    found.clocks.set("rest_ns", double(rank));
    found.extras.metrics = {{"energy", "J", "lower", 6.0}};
    found.extras.notes = {"extras"};
    found.baselines.times = {{"dense_time", "speedup", 5.0 * double(rank), {4, 6}, "dense", 1.5}};
    found.baselines.notes = {"dense"};
    mine.metrics = {{"m", "ns", "lower", 4.0, {3, 5}}};
    mine.regime.threads = int64_t(rank);
    mine.regime.resident = rank == 2;
    mine.conversion = {"a", double(rank), true, {1, 3}};
    mine.padded.set("m", int64_t(rank));
    mine.candidate = "c" + std::to_string(rank);
    mine.workspace_bytes = int64_t(rank);
    mine.notes = {"of rank " + std::to_string(rank)};
    merged[rank] = row.merge(ok_rank(rank == 2 ? 100 : 110), found);
  });
  CHECK(extra[0] > 0);
  for (const MergedFleet& one : merged) {
    CHECK(one.summary.status == Status::kFailed);
    CHECK(one.summary.reason == "rank 1 (node0, device 1): no room");
  }
  CHECK_FALSE(merged[1].representative);
  CHECK_FALSE(merged[2].representative);
  CHECK(merged[0].summary.representative == 2);
  CHECK(merged[0].summary.ranks[0].median_ns == 110);
  REQUIRE(merged[0].representative);
  const Findings& middle = *merged[0].representative;
  REQUIRE(middle.measurement);
  REQUIRE(middle.measurement->samples);
  CHECK(middle.measurement->samples->per_call_ns == std::vector<double>{20, 7});
  CHECK(middle.measurement->samples->stop == StopReason::kNoisy);
  CHECK(middle.measurement->samples->batches_per_sample == 12);
  CHECK(middle.measurement->samples->schedule_perturbed);
  CHECK(middle.sensors.observed.real("power_w") == 3.0);
  CHECK(middle.sensors.notes == std::vector<std::string>{"sensors"});
  CHECK(middle.clocks.real("rest_ns") == 2);
  CHECK(middle.extras.metrics.at(0).value == 6.0);
  CHECK(middle.extras.notes == std::vector<std::string>{"extras"});
  REQUIRE(middle.baselines.times.size() == 1);
  CHECK(middle.baselines.times[0].metric == "dense_time");
  CHECK(middle.baselines.times[0].speedup == "speedup");
  CHECK(middle.baselines.times[0].median_ns == 10);
  CHECK(middle.baselines.times[0].name == "dense");
  CHECK(middle.baselines.times[0].most_speed == 1.5);
  CHECK(middle.baselines.times[0].samples_ns == std::vector<double>{4, 6});
  CHECK(middle.baselines.notes == std::vector<std::string>{"dense"});
  CHECK(middle.measurement->metrics.at(0).value == 4.0);
  CHECK(middle.measurement->metrics.at(0).samples_ns == std::vector<double>{3, 5});
  CHECK(middle.measurement->regime.threads == 2);
  CHECK(middle.measurement->regime.resident == true);
  REQUIRE(middle.measurement->conversion);
  CHECK(middle.measurement->conversion->ns == 2);
  CHECK(middle.measurement->conversion->samples_ns == std::vector<double>{1, 3});
  CHECK(middle.measurement->padded.integer("m") == 2);
  CHECK(middle.measurement->candidate == "c2");
  CHECK(middle.measurement->workspace_bytes == 2);
  CHECK(middle.measurement->notes == std::vector<std::string>{"of rank 2"});
}

TEST_CASE("a failure of a rank that goes on for others is its own, and its row's") {
  for (const size_t broken : {0, 1}) {
    std::array<FleetSummary, 2> fleets;
    std::atomic<bool> failed{false};
    run_on_every_rank(connect_ranks(2), [&](Group& group) {
      const auto rank = size_t(group.rank());
      FleetCoordinator row(group, rank == 0 ? rank_devices(2) : std::vector<RankDevice>());
      RankResult mine = ok_rank(100);
      row.agree_on_candidate();
      row.start_barrier();
      while (rank != broken && !failed) std::this_thread::yield();
      try {
        row.end_barrier([&] {
          if (rank != broken) return;
          failed = true;
          throw RowFailure(Status::kFailed, "it broke");
        });
      } catch (const RowFailure& failure) {
        mine.status = failure.status();
        mine.reason = failure.what();
      }
      fleets[rank] = row.merge(mine, Findings()).summary;
    });
    const std::string name = std::to_string(broken);
    for (const FleetSummary& fleet : fleets) {
      CHECK(fleet.status == Status::kFailed);
      CHECK(fleet.reason == "rank " + name + " (node0, device " + name + "): it broke");
    }
  }
}

TEST_CASE("a rank that is gone ends those that go on for it") {
  testing::Groups groups = connect_ranks(3);
  std::array<std::string, 3> said;
  std::atomic<int> going{0};
  std::vector<std::thread> threads;
  for (const size_t rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      FleetCoordinator row(*groups[rank], {}, "");
      try {
        row.end_barrier([&] { ++going; });
      } catch (const RowFailure& failure) {
        said[rank] = failure.what();
        CHECK(failure.status() == Status::kDeviceLost);
      }
    });
  }
  while (going < 3) std::this_thread::yield();
  groups[2].reset();
  for (std::thread& thread : threads) thread.join();
  CHECK(said[0].find("rank 2 of 3 (") == 0);
  CHECK(said[1] == said[0]);
}

TEST_CASE("a row says of a thousand ranks what some tens of kilobytes hold") {
  std::vector<RankResult> ranks(1000, ok_rank(123456.789));
  for (RankResult& one : ranks) one.clock_mhz = 1980.123, one.power_w = 690.5;
  ranks[700] = ok_rank(135000);
  ranks[701] = failed_rank(Status::kFailed, "it broke");
  Row row;
  row.ranks_json = fleet_json(summarize_fleet(ranks, rank_devices(1000)));
  const std::string text = row.to_json();
  CHECK(text.find("\"ranks\": " + row.ranks_json + ", \"notes\": [") != std::string::npos);
  CHECK(text.size() < 40000);
  CHECK(text.find("\"outliers\": [{\"rank\": 700, \"host\": \"node350\", \"device\": 0") !=
        std::string::npos);
  CHECK(text.find("\"reason\": \"it broke\"") != std::string::npos);
  const std::string of_one_rank = fleet_json(summarize_fleet_of({ok_rank(100), ranks[701]}));
  CHECK(of_one_rank.find("\"spread\": null") != std::string::npos);
}

TEST_CASE("ranks that share a device are told so, where devices have numbers") {
  std::vector<RankDevice> all = {{"a", 0, "X", "GPU-1"}, {"a", 1, "X", "GPU-2"},
                                 {"a", 0, "X", "GPU-1"}, {"b", 0, "X", "GPU-1"},
                                 {"a", 0, "CPU", ""},    {"a", 0, "CPU", ""}};
  CHECK(shared_devices_warning(all) ==
        "ranks 0 and 2 share device 0 of a (GPU-1): they slow one another");
  for (int more = 0; more < 20; ++more) all.push_back({"b", 0, "X", "GPU-1"});
  CHECK(
      shared_devices_warning(all) ==
      "ranks 0 and 2 share device 0 of a (GPU-1), and 20 more share theirs: they slow one another");
  all.resize(2);
  CHECK(shared_devices_warning(all).empty());
}

TEST_CASE("ranks with the same processors divide their cores") {
  const auto shares = core_shares({"a 0 1", "a 0 1", "b 0 1", "a 0 1"});
  CHECK(shares[0].index == 0);
  CHECK(shares[1].index == 1);
  CHECK(shares[3].index == 2);
  CHECK(shares[3].count == 3);
  CHECK(shares[2].count == 1);
  const std::vector<std::vector<int>> cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  CHECK(processors_of_share(cores, {0, 2}) == std::vector<int>{0, 4, 1, 5});
  CHECK(processors_of_share(cores, {1, 2}) == std::vector<int>{2, 6, 3, 7});
  CHECK(processors_of_share(cores, {2, 3}) == std::vector<int>{2, 6, 3, 7});
  CHECK(max_ranks_per_core(4, 3) == 1);
  CHECK(max_ranks_per_core(4, 4) == 1);
  CHECK(max_ranks_per_core(4, 5) == 2);
  CHECK(max_ranks_per_core(4, 8) == 2);
  CHECK(max_ranks_per_core(0, 8) == 1);  // where cores are not known
  CHECK(processors_of_share(cores, {5, 8}) ==
        std::vector<int>{1, 5});  // more ranks than cores take turns
}

}  // namespace
}  // namespace deepbench
