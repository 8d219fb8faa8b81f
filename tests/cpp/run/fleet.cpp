// Ranks that make a row each on its own device: what is judged of them, and that nobody waits for
// one that has failed.
#include "deepbench/run/fleet.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>

#include "../fake.hpp"
#include "../group/met.hpp"
#include "deepbench/run/cores.hpp"

namespace deepbench {
namespace {

using testing::met;
using testing::on_every_rank;

RankFigures took(double ns, double half = 0.001) {
  RankFigures figures;
  figures.median_ns = ns;
  figures.low_ns = ns * (1 - half), figures.high_ns = ns * (1 + half);
  return figures;
}

RankFigures ended(Status status, const std::string& reason) {
  RankFigures figures;
  figures.status = status;
  figures.reason = reason;
  return figures;
}

std::vector<RankPlace> places(size_t count) {
  std::vector<RankPlace> all;
  for (size_t rank = 0; rank < count; ++rank)
    all.push_back({"node" + std::to_string(rank / 2), int64_t(rank % 2), "X100", ""});
  return all;
}

Fleet judged_of(std::vector<RankFigures> ranks) {
  const size_t count = ranks.size();
  return judged(std::move(ranks), places(count));
}

TEST_CASE("a fleet's row is the middle rank's, and its spread from quickest to slowest") {
  const Fleet odd = judged_of({took(103), took(100), took(98), took(101), took(99)});
  CHECK(odd.of == 1);
  CHECK(odd.middle_ns == 100);
  CHECK(odd.quickest == 2);
  CHECK(odd.slowest == 0);
  CHECK(odd.spread == doctest::Approx(0.05));
  CHECK(odd.outliers.empty());
  const Fleet even = judged_of({took(104), took(100)});
  CHECK(even.of == 1);
  CHECK(even.middle_ns == 102);
  CHECK(even.limit == 0);
}

TEST_CASE("an outlier is beyond 3 % and five scaled MADs, by its whole interval") {
  std::vector<RankFigures> ranks(8, took(100));
  ranks[5] = took(108.1);
  const Fleet slow = judged_of(ranks);
  CHECK(slow.limit == 0.03);
  REQUIRE(slow.outliers.size() == 1);
  CHECK(slow.outliers[0].rank == 5);
  CHECK(slow.outliers[0].off == doctest::Approx(0.081));

  ranks[5] = took(102.9);
  CHECK(judged_of(ranks).outliers.empty());
  ranks[5] = took(108.1, 0.06);  // it may be as slow as 101.6
  CHECK(judged_of(ranks).outliers.empty());
  ranks[5] = took(90);
  CHECK(judged_of(ranks).outliers.at(0).off == doctest::Approx(-0.1));

  const Fleet spread = judged_of({took(98), took(99), took(100), took(101), took(102), took(107)});
  CHECK(spread.limit == doctest::Approx(5 * 1.4826 * 1.5 / 100.5));
  CHECK(spread.outliers.empty());
}

TEST_CASE("one rank's failure is the row's, with its place; what all say is said of none") {
  const auto incorrect = ended(Status::kIncorrect, "output 3 is 4");
  const Fleet one =
      judged_of({took(100), took(101), ended(Status::kOutOfMemory, "5 GiB"), incorrect, took(99)});
  CHECK(one.status == Status::kIncorrect);
  CHECK(one.reason == "rank 3 (node1, device 1): output 3 is 4");
  CHECK(one.of == 0);
  CHECK(one.middle_ns == 100);
  const Fleet two = judged_of({took(1), incorrect, incorrect});
  CHECK(two.reason == "rank 1 (node0, device 1): output 3 is 4 (and 1 more ranks)");
  const auto lost = ended(Status::kDeviceLost, "fell off");
  CHECK(judged_of({took(1), incorrect, lost}).status == Status::kDeviceLost);
  const Fleet all = judged_of(std::vector<RankFigures>(3, ended(Status::kUnsupported, "no int8")));
  CHECK(all.status == Status::kUnsupported);
  CHECK(all.reason == "no int8");
  CHECK(all.of == -1);
}

TEST_CASE("ranks that ran something else than most count for nothing") {
  std::vector<RankFigures> ranks(5, took(100));
  for (RankFigures& one : ranks) one.made_by = "lib fast";
  ranks[0] = took(200), ranks[4] = took(300);
  const Fleet fleet = judged_of(ranks);
  CHECK(fleet.middle_ns == 100);
  CHECK(fleet.slowest == 3);
  CHECK(fleet.outliers.empty());
  CHECK(fleet.apart == std::vector<int>{0, 4});
  Result row;
  row.fleet = fleet;
  CHECK(row.to_json().find("\"apart\": [0, 4]") != std::string::npos);
  row.fleet = judged({took(100), took(101)}, places(2));
  CHECK(row.to_json().find("\"apart\": null") != std::string::npos);
}

TEST_CASE("a time that was not verified is kept and counts for nothing") {
  RankFigures wrong = took(50);
  wrong.status = Status::kIncorrect;
  const Fleet fleet = judged_of({wrong, took(100), took(101)});
  CHECK(fleet.of == 1);
  CHECK(fleet.quickest == 1);
  CHECK(judged_of({wrong, wrong}).of == 0);
}

TEST_CASE("who has failed keeps nobody waiting, and those that are done go on until all are") {
  std::array<Fleet, 3> fleets;
  std::array<Result, 3> middles;
  std::array<int, 3> extra{};
  std::atomic<bool> begun{false};
  on_every_rank(met(3), [&](Group& group) {
    const auto rank = size_t(group.rank());
    FleetRow row(group, rank == 0 ? places(3) : std::vector<RankPlace>(),
                 "c" + std::to_string(rank));
    if (rank == 1) {
      fleets[1] = row.settle(ended(Status::kFailed, "no room"), middles[1]);
      return;
    }
    CHECK(row.agree() == "c0");
    row.start();
    while (rank == 2 && !begun) {
    }
    row.end([&] { ++extra[rank], begun = true; });
    Samples samples;
    samples.per_call_ns = {double(10 * rank), 7};
    samples.stop = Stop::kNoisy;
    samples.fold = 12, samples.shuffled = rank == 2;
    middles[rank].samples = samples;
    middles[rank].observed.set("power_w", 1.5 * double(rank));
    middles[rank].metrics = {{"m", "ns", "lower", 4.0}};
    middles[rank].regime.threads = int64_t(rank);
    middles[rank].regime.resident = rank == 2;
    middles[rank].conversion = {"a", double(rank), true};
    middles[rank].padded.set("m", int64_t(rank));
    middles[rank].algorithm.workspace_bytes = int64_t(rank);
    middles[rank].notes = {"of rank " + std::to_string(rank)};
    fleets[rank] = row.settle(took(rank == 2 ? 100 : 110), middles[rank]);
  });
  CHECK(extra[0] > 0);
  for (const Fleet& fleet : fleets) {
    CHECK(fleet.status == Status::kFailed);
    CHECK(fleet.reason == "rank 1 (node0, device 1): no room");
  }
  CHECK(fleets[0].of == 2);
  CHECK(fleets[0].ranks[0].median_ns == 110);
  REQUIRE(middles[0].samples);
  CHECK(middles[0].samples->per_call_ns == std::vector<double>{20, 7});
  CHECK(middles[0].samples->stop == Stop::kNoisy);
  CHECK(middles[0].samples->fold == 12);
  CHECK(middles[0].samples->shuffled);
  CHECK(middles[0].observed.real("power_w") == 3.0);
  CHECK(middles[0].metrics.at(0).value == 4.0);
  CHECK(middles[0].regime.threads == 2);
  CHECK(middles[0].regime.resident == true);
  REQUIRE(middles[0].conversion);
  CHECK(middles[0].conversion->ns == 2);
  CHECK(middles[0].padded.integer("m") == 2);
  CHECK(middles[0].algorithm.workspace_bytes == 2);
  CHECK(middles[0].notes == std::vector<std::string>{"of rank 2"});
}

TEST_CASE("a failure of a rank that goes on for others is its own, and its row's") {
  for (const size_t broken : {0, 1}) {
    std::array<Fleet, 2> fleets;
    std::atomic<bool> failed{false};
    on_every_rank(met(2), [&](Group& group) {
      const auto rank = size_t(group.rank());
      FleetRow row(group, rank == 0 ? places(2) : std::vector<RankPlace>());
      RankFigures mine = took(100);
      Result middle;
      row.agree();
      row.start();
      while (rank != broken && !failed) std::this_thread::yield();
      try {
        row.end([&] {
          if (rank != broken) return;
          failed = true;
          throw RowFailure(Status::kFailed, "it broke");
        });
      } catch (const RowFailure& failure) {
        mine.status = failure.status();
        mine.reason = failure.what();
      }
      fleets[rank] = row.settle(mine, middle);
    });
    const std::string name = std::to_string(broken);
    for (const Fleet& fleet : fleets) {
      CHECK(fleet.status == Status::kFailed);
      CHECK(fleet.reason == "rank " + name + " (node0, device " + name + "): it broke");
    }
  }
}

TEST_CASE("a rank that is gone ends those that go on for it") {
  testing::Groups groups = met(3);
  std::array<std::string, 3> said;
  std::atomic<int> going{0};
  std::vector<std::thread> threads;
  for (const size_t rank : {0, 1}) {
    threads.emplace_back([&, rank] {
      FleetRow row(*groups[rank], {}, "");
      try {
        row.end([&] { ++going; });
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
  std::vector<RankFigures> ranks(1000, took(123456.789));
  for (RankFigures& one : ranks) one.clock_mhz = 1980.123, one.power_w = 690.5;
  ranks[700] = took(135000);
  ranks[701] = ended(Status::kFailed, "it broke");
  Result row;
  row.fleet = judged(ranks, places(1000));
  const std::string text = row.to_json();
  CHECK(text.size() < 40000);
  CHECK(text.find("\"outliers\": [{\"rank\": 700, \"host\": \"node350\", \"device\": 0") !=
        std::string::npos);
  CHECK(text.find("\"reason\": \"it broke\"") != std::string::npos);
  row.fleet = judged({took(100), ranks[701]}, places(2));
  CHECK(row.to_json().find("\"spread\": null") != std::string::npos);  // of one rank
}

TEST_CASE("ranks that share a device are told so, where devices have numbers") {
  std::vector<RankPlace> all = {{"a", 0, "X", "GPU-1"}, {"a", 1, "X", "GPU-2"},
                                {"a", 0, "X", "GPU-1"}, {"b", 0, "X", "GPU-1"},
                                {"a", 0, "CPU", ""},    {"a", 0, "CPU", ""}};
  CHECK(shared_devices(all) == "ranks 0 and 2 share device 0 of a (GPU-1): they slow one another");
  for (int more = 0; more < 20; ++more) all.push_back({"b", 0, "X", "GPU-1"});
  CHECK(
      shared_devices(all) ==
      "ranks 0 and 2 share device 0 of a (GPU-1), and 20 more share theirs: they slow one another");
  all.resize(2);
  CHECK(shared_devices(all).empty());
}

TEST_CASE("ranks with the same processors divide their cores") {
  const auto shares = shares_of({"a 0 1", "a 0 1", "b 0 1", "a 0 1"});
  CHECK(shares[0].index == 0);
  CHECK(shares[1].index == 1);
  CHECK(shares[3].index == 2);
  CHECK(shares[3].count == 3);
  CHECK(shares[2].count == 1);
  const std::vector<std::vector<int>> cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  CHECK(part_of(cores, {0, 2}) == std::vector<int>{0, 4, 1, 5});
  CHECK(part_of(cores, {1, 2}) == std::vector<int>{2, 6, 3, 7});
  CHECK(part_of(cores, {2, 3}) == std::vector<int>{2, 6, 3, 7});
  CHECK(most_on_a_core(4, 3) == 1);
  CHECK(most_on_a_core(4, 4) == 1);
  CHECK(most_on_a_core(4, 5) == 2);
  CHECK(most_on_a_core(4, 8) == 2);
  CHECK(most_on_a_core(0, 8) == 1);                         // where cores are not known
  CHECK(part_of(cores, {5, 8}) == std::vector<int>{1, 5});  // more ranks than cores take turns
}

}  // namespace
}  // namespace deepbench
