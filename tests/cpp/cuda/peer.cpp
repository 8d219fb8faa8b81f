// Sums over peer memory in one process. Ranks are streams of one device, with grids small enough to
// run concurrently, or of all devices if there are several. tests/gpu/test_peer.py covers
// memory that several processes share. DEEPBENCH_TEST_PEER_CALLS is the number of consecutive
// calls, for tools that slow down each launch (racecheck).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <memory>
#include <vector>

#include "buffer.hpp"
#include "deepbench/plugin.hpp"
#include "gpu.hpp"
#include "graph.hpp"
#include "ops/all_reduce/peer_algorithm.hpp"
#include "ops/collective/peer_team.hpp"
#include "peer_devices.hpp"
#include "stream.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::AllocationKind;
using cuda::Buffer;
using cuda::PeerAlgorithm;
using cuda::PeerKernel;
using cuda::PeerPlan;

constexpr PeerAlgorithm kAlgorithms[] = {PeerAlgorithm::kOneShotLl, PeerAlgorithm::kOneShot,
                                         PeerAlgorithm::kTwoShot, PeerAlgorithm::kTwoShotPush,
                                         PeerAlgorithm::kRing};

Collective sum_over(const char* precision, int64_t elements) {
  return {CollectiveKind::kAllReduce, elements, precision_info(precision), false};
}

constexpr uint64_t kTimeoutNs = 10'000'000'000;
constexpr uint32_t kBlocks = 8;

uint64_t payload(const Collective& sum) {
  return uint64_t(sum.elements) * uint64_t(size_of(sum.precision.c));
}

struct Rank : RankOnDevice {
  Rank(const PeerPlan& plan, const Collective& sum, int ranks, int device)
      : RankOnDevice(device),
        kernel(plan, sum, ranks, home),
        mine(payload(sum) + 64, AllocationKind::kDedicated),
        result(payload(sum) + 64, AllocationKind::kDedicated),
        shared(cuda::peer_shared_bytes(plan.algorithm, sum, ranks) + 16,
               AllocationKind::kDedicated) {
    fill_buffer(shared, 0);
  }

  const PeerKernel kernel;
  Buffer mine, result, shared;
};

class DevicesUnderTest {
 public:
  // Each thread has two vectors in flight, so that threads have several rounds and single vectors
  // remain.
  DevicesUnderTest(const Collective& sum, PeerAlgorithm algorithm, int ranks, int devices,
                   bool in_place, uint32_t blocks)
      : sum_(sum), in_place_(in_place) {
    enable_peer_access(devices);
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<Rank>(PeerPlan{algorithm, blocks, PEER_THREADS, 2}, sum,
                                              ranks, rank % devices));
  }

  int ranks() const { return int(ranks_.size()); }
  Rank& rank(int r) { return *ranks_[size_t(r)]; }
  void set_timeout(uint64_t timeout_ns) { timeout_ns_ = timeout_ns; }

  // Fills the operands with numbers whose sums are exact and which differ between rounds, or with
  // numbers in [-1, 1), whose sums are rounded.
  void fill(uint64_t round, bool exact = true) {
    for (int r = 0; r < ranks(); ++r) {
      std::vector<uint16_t> numbers(payload(sum_) / 2);
      for (uint64_t i = 0; i < uint64_t(sum_.elements); ++i)
        store(numbers, i, exact ? summand(r, round, i) : deepbench_uniform(round, uint32_t(r), i));
      rank(r).copy(rank(r).mine.data(), numbers.data(), payload(sum_));
      if (!in_place_) rank(r).fill_buffer(rank(r).result, 0xff);
    }
  }
  void enqueue(int r) {
    Peers peers = {};
    PeerAddresses shared = {}, added = {}, results = {};
    for (int i = 0; i < ranks(); ++i) {
      peers.control.of[i] = rank(i).control.data();
      shared.of[i] = rank(i).shared.data();
      added.of[i] = rank(i).mine.data();
      results.of[i] = in_place_ ? rank(i).mine.data() : rank(i).result.data();
    }
    peers.timeout_ns = timeout_ns_;
    peers.host_missing = reinterpret_cast<uint32_t*>(rank(r).host_missing.data());
    peers.rank = uint32_t(r);
    rank(r).home.make_current();
    rank(r).kernel.enqueue(rank(r).stream, peers, shared, added, results);
  }
  // Enqueues `calls` calls of the first `ranks` ranks.
  void run(int calls, int ranks) {
    for (int call = 0; call < calls; ++call)
      for (int r = 0; r < ranks; ++r) enqueue(r);
    wait();
  }
  void run(int calls = 1) { run(calls, ranks()); }
  void wait() {
    for (int r = 0; r < ranks(); ++r) rank(r).wait();
  }
  // Does what a team does after its ranks have missed one.
  void resynchronize() {
    std::vector<cuda::PeerSteps> steps;
    PeerControl control;
    for (int r = 0; r < ranks(); ++r) {
      rank(r).copy(&control, rank(r).control.data(), sizeof control);
      std::copy(std::begin(control.steps), std::end(control.steps), steps.emplace_back().of);
    }
    control = cuda::resynchronized_control(steps);
    for (int r = 0; r < ranks(); ++r) {
      rank(r).copy(rank(r).control.data(), &control, sizeof control);
      std::memset(rank(r).host_missing.data(), 0, rank(r).host_missing.bytes());
    }
  }
  uint32_t reported_missing_rank(int r) { return rank(r).reported_missing_rank(); }
  std::vector<uint16_t> result(int r) {
    std::vector<uint16_t> words(payload(sum_) / 2);
    rank(r).copy(words.data(), (in_place_ ? rank(r).mine : rank(r).result).data(), payload(sum_));
    return words;
  }
  // The number of elements on all ranks that differ from `times` the sums of the round's numbers.
  uint64_t count_wrong_outputs(uint64_t round, double times = 1) {
    std::vector<double> expected(size_t(sum_.elements));
    for (int r = 0; r < ranks(); ++r)
      for (uint64_t i = 0; i < expected.size(); ++i)
        expected[i] += times * double(summand(r, round, i));
    uint64_t wrong = 0;
    for (int r = 0; r < ranks(); ++r) {
      const std::vector<uint16_t> words = result(r);
      for (uint64_t i = 0; i < expected.size(); ++i) wrong += value(words, i) != expected[i];
    }
    return wrong;
  }
  bool all_results_equal() {
    for (int r = 1; r < ranks(); ++r)
      if (result(r) != result(0)) return false;
    return true;
  }

 private:
  float summand(int r, uint64_t round, uint64_t i) const {
    return deepbench_summand(sum_.precision.c, 3 + round, uint32_t(r), uint32_t(ranks()), i);
  }
  void store(std::vector<uint16_t>& words, uint64_t i, float number) const {
    store_number(words, sum_.precision.c, i, number);
  }
  double value(const std::vector<uint16_t>& words, uint64_t i) const {
    return double(number_at(words, sum_.precision.c, i));
  }

  const Collective sum_;
  const bool in_place_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  uint64_t timeout_ns_ = kTimeoutNs;
};

std::string text_of(PeerAlgorithm algorithm, deepbench_type type, int ranks) {
  return cuda::peer_expression({algorithm, 1, 1, 2}, type, ranks);
}

// Calls body(machine, algorithm) with one device and with all devices.
void for_each_algorithm(const char* precision, int64_t elements, int ranks, bool in_place,
                        uint32_t blocks,
                        const std::function<void(DevicesUnderTest&, PeerAlgorithm)>& body) {
  for (const int devices : device_counts())
    for (const PeerAlgorithm algorithm : kAlgorithms) {
      INFO(text_of(algorithm, precision_info(precision).c, ranks), " ", elements, " elements, ",
           blocks, " blocks, ", devices, " devices, in place ", in_place);
      DevicesUnderTest machine(sum_over(precision, elements), algorithm, ranks, devices, in_place,
                               blocks);
      body(machine, algorithm);
    }
}

void check_sums(const char* precision, int64_t elements, int ranks, uint32_t blocks) {
  for (const bool in_place : {false, true})
    for_each_algorithm(precision, elements, ranks, in_place, blocks,
                       [](DevicesUnderTest& machine, PeerAlgorithm) {
                         for (uint64_t round = 0; round < 2; ++round) {
                           machine.fill(round);
                           machine.run();
                           REQUIRE(machine.reported_missing_rank(0) == 0);
                           CHECK(machine.count_wrong_outputs(round) == 0);
                         }
                       });
}

TEST_CASE("gpu: peer: every algorithm computes sums of every type and size") {
  REQUIRE_GPU();
  for (const int64_t elements : {1, 3, 1000, 4099}) {
    check_sums("float", elements, 2, 3);
    check_sums("half", elements, 4, 2);
    check_sums("bfloat16", elements, 2, 1);
  }
  check_sums("float", 1 << 20, 4, 16);
  check_sums("half", (1 << 18) + 5, 4, 16);
  check_sums("float", 4099, 3, 8);
}

constexpr int kReplays = 10;

int consecutive_calls() {
  const char* text = std::getenv("DEEPBENCH_TEST_PEER_CALLS");
  const int calls = text ? std::atoi(text) : 1000;
  REQUIRE_MESSAGE((calls > 0 && calls % kReplays == 0),
                  "DEEPBENCH_TEST_PEER_CALLS must be a multiple of ", kReplays);
  return calls;
}

// Only stream order separates two calls, so a rank may be one call ahead of others.
TEST_CASE("gpu: peer: consecutive calls are correct, also as a graph") {
  REQUIRE_GPU();
  const int calls = consecutive_calls();
  for_each_algorithm(
      "float", 20011, 4, false, kBlocks, [calls](DevicesUnderTest& machine, PeerAlgorithm) {
        machine.fill(0);
        machine.run(calls);
        CHECK(machine.count_wrong_outputs(0) == 0);

        std::vector<std::unique_ptr<cuda::Graph>> graphs;
        for (int r = 0; r < machine.ranks(); ++r) {
          machine.rank(r).home.make_current();
          graphs.push_back(std::make_unique<cuda::Graph>(machine.rank(r).stream, [&] {
            for (int call = 0; call < calls / kReplays; ++call) machine.enqueue(r);
          }));
        }
        machine.fill(1);
        for (int replay = 0; replay < kReplays; ++replay)
          for (int r = 0; r < machine.ranks(); ++r) {
            machine.rank(r).home.make_current();
            graphs[size_t(r)]->launch(machine.rank(r).stream);
          }
        machine.wait();
        CHECK(machine.count_wrong_outputs(1) == 0);
        for (int r = 0; r < machine.ranks(); ++r) CHECK(machine.reported_missing_rank(r) == 0);
      });
}

// Each call adds to the result of the previous one, so a call that runs early or late changes the
// sum.
TEST_CASE("gpu: peer: calls in place run in order") {
  REQUIRE_GPU();
  constexpr int kCalls = 60;  // 2^59 times integers below 2^24 is exact
  for_each_algorithm("float", 30001, 2, true, kBlocks,
                     [](DevicesUnderTest& machine, PeerAlgorithm) {
                       machine.fill(0);
                       machine.run(kCalls);
                       CHECK(machine.count_wrong_outputs(0, std::ldexp(1.0, kCalls - 1)) == 0);
                     });
}

TEST_CASE("gpu: peer: rounded sums have the same bits on all ranks in every call") {
  REQUIRE_GPU();
  for (const char* precision : {"float", "half"})
    for_each_algorithm(precision, 50001, 4, false, kBlocks,
                       [](DevicesUnderTest& machine, PeerAlgorithm) {
                         machine.fill(1, /*exact=*/false);
                         machine.run();
                         CHECK(machine.all_results_equal());
                         const std::vector<uint16_t> first = machine.result(0);
                         for (int again = 0; again < 20; ++again) {
                           machine.run();
                           REQUIRE(machine.result(3) == first);
                         }
                       });
}

TEST_CASE("gpu: peer: a missing rank is detected in time, and later calls end") {
  REQUIRE_GPU();
  for_each_algorithm(
      "float", 10000, 3, false, kBlocks, [](DevicesUnderTest& machine, PeerAlgorithm algorithm) {
        machine.fill(0);
        machine.run();  // with all ranks
        CHECK(machine.count_wrong_outputs(0) == 0);
        machine.set_timeout(200'000'000);
        const auto begin = std::chrono::steady_clock::now();
        machine.run(50, 2);  // without the last rank
        const auto took = std::chrono::steady_clock::now() - begin;
        CHECK(took > std::chrono::milliseconds(100));
        CHECK(took < std::chrono::seconds(3));
        CHECK(machine.reported_missing_rank(0) == 3);
        CHECK(machine.reported_missing_rank(1) ==
              (algorithm == PeerAlgorithm::kRing ? machine.reported_missing_rank(1) : 3));
        CHECK(machine.reported_missing_rank(1) != 0);
        CHECK(machine.reported_missing_rank(2) == 0);
        machine.resynchronize();
        machine.set_timeout(kTimeoutNs);
        machine.fill(1);
        machine.run(5);
        CHECK(machine.count_wrong_outputs(1) == 0);
      });
}

// The maximum number of ranks. Calls are launched in turns, so that no rank's call waits behind
// another rank's next one: streams share the queues of a device.
TEST_CASE("gpu: peer: every algorithm is correct with eight ranks") {
  REQUIRE_GPU();
  check_sums("half", 5, PEER_MAX_RANKS, 1);
  check_sums("half", 30011, PEER_MAX_RANKS, 4);
  for_each_algorithm("half", 30011, PEER_MAX_RANKS, false, 4,
                     [](DevicesUnderTest& machine, PeerAlgorithm) {
                       machine.fill(0);
                       machine.run(100);
                       CHECK(machine.count_wrong_outputs(0) == 0);
                       for (int r = 0; r < machine.ranks(); ++r)
                         CHECK(machine.reported_missing_rank(r) == 0);
                     });
}

TEST_CASE("gpu: peer: a barrier with one rank ends") {
  REQUIRE_GPU();
  cuda::Stream& stream = device_stream(0);
  cuda::PeerTeam& team = cuda::PeerTeam::of(plugin::Ranks(), stream);
  CHECK(&team == &cuda::PeerTeam::of(plugin::Ranks(), stream));
  team.barrier(kTimeoutNs);
  team.wait();
}

TEST_CASE("gpu: peer: a team reports a missing rank and is resynchronized for the next call") {
  REQUIRE_GPU();
  cuda::Stream& stream = device_stream(0);
  cuda::PeerTeam& team = cuda::PeerTeam::of(plugin::Ranks(), stream);
  *team.peers(kTimeoutNs).host_missing = 1;  // as kernels set it
  CHECK_THROWS_WITH_AS(team.wait(), "peer: rank 0 of 1 did not arrive in time", plugin::Error);
  CHECK_THROWS_AS(team.wait(), plugin::Error);
  CHECK(&team == &cuda::PeerTeam::of(plugin::Ranks(), stream));
  team.barrier(kTimeoutNs);
  team.wait();
}

}  // namespace
}  // namespace deepbench::cuda_test
