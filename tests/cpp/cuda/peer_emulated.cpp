// The all_reduce kernels over peer memory, run on the host with one thread for every block of every
// rank: a real scheduler tests the flags, and small sizes test every index.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "ops/collective/peer_team.hpp"
#include "peer_emulation.hpp"

// The build copies the kernel source to an include folder.
#include <peer.cu>

namespace deepbench::cuda_test {
namespace {

using namespace peer_model;

constexpr uint64_t kSeed = 11;
constexpr int kMaxRanks = 4;

struct EmulatedRank {
  EmulatedRank(uint64_t bytes) : mine(bytes), result(bytes), region(16 * bytes + 16384) {}
  PeerControl control = {};
  uint32_t host_missing = 0;
  GuardedOperand mine, result, region;
};

template <class T, int kRanks>
class EmulatedMachine {
 public:
  using N = Numbers<T>;
  EmulatedMachine(uint64_t elements, bool in_place) : elements_(elements), in_place_(in_place) {
    for (int r = 0; r < kRanks; ++r) ranks_.emplace_back(elements * sizeof(typename N::Stored));
  }

  EmulatedRank& rank(int r) { return ranks_[size_t(r)]; }
  Peers peers(int r, uint64_t timeout_ns = 10'000'000'000) {
    Peers peers = {};
    for (int i = 0; i < kRanks; ++i) peers.control.of[i] = &rank(i).control;
    peers.timeout_ns = timeout_ns;
    peers.host_missing = &rank(r).host_missing;
    peers.rank = uint32_t(r);
    return peers;
  }
  PeerAddresses regions() { return addresses(&EmulatedRank::region); }
  PeerAddresses added() { return addresses(&EmulatedRank::mine); }
  PeerAddresses results() {
    return addresses(in_place_ ? &EmulatedRank::mine : &EmulatedRank::result);
  }
  uint4* result(int r) { return static_cast<uint4*>(results().of[r]); }

  // Runs `calls` calls of kernel(rank), which follow one another on each rank as on a stream.
  void run(int calls, uint32_t blocks, int begin_rank, const std::function<void(int)>& kernel) {
    std::vector<std::thread> threads;
    for (int r = begin_rank; r < kRanks; ++r)
      threads.emplace_back([=] {
        for (int call = 0; call < calls; ++call) {
          if (!in_place_ && begin_rank == 0) fill(r, call);
          run_grid(blocks, [&] { kernel(r); });
          if (!in_place_ && begin_rank == 0) wrong_[r] += count_wrong_outputs_of_rank(r, call);
        }
      });
    for (std::thread& thread : threads) thread.join();
  }

  void fill(int r, int call) {
    for (uint64_t i = 0; i < elements_; ++i)
      rank(r).mine.template as<typename N::Stored>()[i] = N::stored(summand(r, call, i));
  }
  uint64_t count_wrong_outputs_of_rank(int r, int call) {
    uint64_t wrong = 0;
    const auto* const sums = reinterpret_cast<const typename N::Stored*>(result(r));
    for (uint64_t i = 0; i < elements_; ++i) {
      float expected = 0;
      for (int other = 0; other < kRanks; ++other) expected += summand(other, call, i);
      wrong += N::value(sums[i]) != expected;
    }
    return wrong;
  }
  uint64_t count_wrong_outputs() const {
    uint64_t sum = 0;
    for (const uint64_t of_rank : wrong_) sum += of_rank;
    return sum;
  }
  bool is_guarded() {
    bool guarded = true;
    for (EmulatedRank& rank : ranks_) guarded &= rank.mine.is_guarded() && rank.result.is_guarded();
    return guarded;
  }

 private:
  static float summand(int r, int call, uint64_t i) {
    return deepbench_summand(N::type, kSeed + uint64_t(call), uint32_t(r), kRanks, i);
  }
  PeerAddresses addresses(GuardedOperand EmulatedRank::*member) {
    PeerAddresses all = {};
    for (int r = 0; r < kRanks; ++r) all.of[r] = (rank(r).*member).vectors();
    return all;
  }
  const uint64_t elements_;
  const bool in_place_;
  std::vector<EmulatedRank> ranks_;
  uint64_t wrong_[kMaxRanks] = {};
};

constexpr size_t kAlgorithms = 5;
using Kernels = std::vector<std::function<void(int)>>;

// The same value as on the host: the largest slice plus one grain.
template <class T, int kRanks>
uint64_t region_vectors(EmulatedMachine<T, kRanks>&, uint64_t elements) {
  const uint64_t grains = (elements / (4 * T::kPerWord) + 31) / 32;
  return (grains + kRanks - 1) / kRanks * 32 + 32;
}

template <class T, int kRanks>
Kernels kernels_of(EmulatedMachine<T, kRanks>& m, uint64_t elements) {
  const uint64_t units = (elements + 2 * T::kPerWord - 1) / (2 * T::kPerWord);
  return {[&m, elements](int r) {
            one_shot<T, kRanks, 2>(m.peers(r), m.regions(), elements / (4 * T::kPerWord) + 1,
                                   m.rank(r).mine.vectors(), m.result(r), elements);
          },
          [&m, elements, units](int r) {
            one_shot_ll<T, kRanks>(m.peers(r), m.regions(), units,
                                   m.rank(r).mine.template as<uint2>(),
                                   reinterpret_cast<uint2*>(m.result(r)), elements);
          },
          [&m, elements](int r) {
            two_shot<T, kRanks, 4>(m.peers(r), m.added(), m.results(), elements);
          },
          [&m, elements](int r) {
            two_shot_push<T, kRanks, 2>(m.peers(r), m.regions(), region_vectors(m, elements),
                                        m.rank(r).mine.vectors(), m.results(), elements);
          },
          [&m, elements](int r) {
            ring<T, kRanks, 2>(m.peers(r), m.regions(), m.rank(r).mine.vectors(), m.results(),
                               elements);
          }};
}

template <class T, int kRanks>
void check_sums(uint64_t elements, uint32_t blocks) {
  for (const bool in_place : {false, true})
    for (size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
      INFO(kRanks, " ranks, ", elements, " elements, ", blocks, " blocks, algorithm ", algorithm,
           in_place);
      EmulatedMachine<T, kRanks> machine(elements, in_place);
      const auto kernel = kernels_of(machine, elements)[algorithm];
      if (!in_place) {
        machine.run(4, blocks, 0, kernel);
      } else {
        for (int call = 0; call < 2; ++call) {
          for (int r = 0; r < kRanks; ++r) machine.fill(r, call);
          machine.run(1, blocks, 0, kernel);
          for (int r = 0; r < kRanks; ++r) CHECK(machine.count_wrong_outputs_of_rank(r, call) == 0);
        }
      }
      CHECK(machine.count_wrong_outputs() == 0);
      CHECK(machine.is_guarded());
      for (int r = 0; r < kRanks; ++r) CHECK(machine.rank(r).host_missing == 0);
    }
}

TEST_CASE("kernels on the host: every all_reduce algorithm is correct in consecutive calls") {
  for (const uint64_t elements : {1, 9, 1001}) {
    check_sums<Float, 2>(elements, 3);
    check_sums<Half, 3>(elements, 2);
  }
  check_sums<Float, 4>(4099, 1);
  check_sums<Bfloat16, 2>(4099, 2);
}

TEST_CASE(
    "kernels on the host: all other ranks report a missing rank, in this and all later calls") {
  constexpr uint64_t kElements = 100;
  clock_readings = 0;
  for (size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    INFO("algorithm ", algorithm);
    EmulatedMachine<Float, 3> machine(kElements, false);
    const auto kernel = kernels_of(machine, kElements)[algorithm];
    for (int r = 0; r < 3; ++r) machine.fill(r, 0);
    const auto begin = std::chrono::steady_clock::now();
    machine.run(20, 2, 1, [&](int r) {  // rank 0 never runs
      const Peers peers = machine.peers(r, 20'000'000);
      if (algorithm == 0)
        one_shot<Float, 3, 2>(peers, machine.regions(), kElements, machine.rank(r).mine.vectors(),
                              machine.result(r), kElements);
      else if (algorithm == 1)
        one_shot_ll<Float, 3>(peers, machine.regions(), kElements, machine.rank(r).mine.as<uint2>(),
                              reinterpret_cast<uint2*>(machine.result(r)), kElements);
      else if (algorithm == 2)
        two_shot<Float, 3, 4>(peers, machine.added(), machine.results(), kElements);
      else if (algorithm == 3)
        two_shot_push<Float, 3, 2>(peers, machine.regions(), 33, machine.rank(r).mine.vectors(),
                                   machine.results(), kElements);
      else
        ring<Float, 3, 2>(peers, machine.regions(), machine.rank(r).mine.vectors(),
                          machine.results(), kElements);
    });
    const auto took = std::chrono::steady_clock::now() - begin;
    CHECK(took < std::chrono::seconds(2));
    if (algorithm < 4) CHECK(machine.rank(1).host_missing == 1);
    CHECK(machine.rank(1).host_missing != 0);
    CHECK(machine.rank(2).host_missing != 0);
  }
  // The clock of another emulation would let threads that wait keep the processors.
  CHECK(clock_readings != 0);
}

TEST_CASE("kernels on the host: resynchronized ranks compute correct sums") {
  constexpr uint64_t kElements = 100;
  for (size_t algorithm = 0; algorithm < kAlgorithms; ++algorithm) {
    INFO("algorithm ", algorithm);
    EmulatedMachine<Float, 3> machine(kElements, false);
    const auto kernel = kernels_of(machine, kElements)[algorithm];
    machine.run(3, 2, 0, kernel);
    std::vector<cuda::PeerSteps> steps(3);
    for (int r = 0; r < 3; ++r) {
      PeerControl& control = machine.rank(r).control;
      control.missing = 1, machine.rank(r).host_missing = 1;
      // Some ranks are further than others, as after an aborted call.
      control.steps[0] += uint32_t(r);
      std::copy(std::begin(control.steps), std::end(control.steps), steps[size_t(r)].of);
    }
    for (int r = 0; r < 3; ++r) {
      machine.rank(r).control = cuda::resynchronized_control(steps);
      machine.rank(r).host_missing = 0;
    }
    machine.run(4, 2, 0, kernel);
    CHECK(machine.count_wrong_outputs() == 0);
    for (int r = 0; r < 3; ++r) CHECK(machine.rank(r).host_missing == 0);
  }
}

TEST_CASE("peer: resynchronized control words are beyond all steps that any rank has begun") {
  std::vector<cuda::PeerSteps> steps(2);
  // The second block's counter has wrapped around.
  steps[0] = {{7, 0xfffffffe}}, steps[1] = {{21, 3}};
  const PeerControl control = cuda::resynchronized_control(steps);
  constexpr uint32_t kStepsOfRing = 2 * PEER_MAX_RANKS - 2;
  for (const auto& [block, last] : {std::pair{0, 21u}, std::pair{1, 3u}, std::pair{9, 0u}}) {
    CHECK(control.steps[block] > last + kStepsOfRing);
    CHECK(control.steps[block] < last + 100);
    for (const uint32_t flag : control.flags[block]) CHECK(flag == control.steps[block]);
  }
  CHECK(control.missing == 0);
}

}  // namespace
}  // namespace deepbench::cuda_test
