// The kernels of peer_exchange.cu, run on the host with one thread for every block of every rank.
#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "ops/collective/peer_exchange.hpp"
#include "peer_emulation.hpp"

// The build copies the kernel source to an include folder.
#include <peer_exchange.cu>

namespace deepbench::cuda_test {
namespace {

using namespace peer_model;

constexpr uint64_t kSeed = 23, kPoison = 0x7b7b;
constexpr uint64_t kTimeoutNs = 20'000'000'000;
constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                     CollectiveKind::kAllToAll, CollectiveKind::kBroadcast,
                                     CollectiveKind::kSendRecv};

struct EmulatedRank {
  EmulatedRank(const Collective& of, int ranks)
      : operand(of.operand_elements(ranks) * uint64_t(size_of(of.precision.c))),
        result(of.result_elements(ranks) * uint64_t(size_of(of.precision.c))),
        staged(cuda::exchange_shared_bytes(of, ranks)) {}
  PeerControl control = {};
  uint32_t host_missing = 0;
  uint64_t wrong = 0;
  GuardedOperand operand, result, staged;
};

template <class T, int kRanks>
class EmulatedMachine {
 public:
  using Stored = typename Numbers<T>::Stored;

  // Of `count` elements in a block, or in all.
  EmulatedMachine(CollectiveKind kind, uint64_t count) : of_{kind, 0, precision(), false} {
    of_.elements = int64_t(count) * (of_.has_blocks() ? kRanks : 1);
    for (int r = 0; r < kRanks; ++r) ranks_.push_back(std::make_unique<EmulatedRank>(of_, kRanks));
  }

  EmulatedRank& rank(int r) { return *ranks_[size_t(r)]; }

  // The calls of the ranks from `first_rank` on follow one another as on a stream. A barrier of the
  // first block precedes every second call, so that blocks use different halves of the region.
  void run(int calls, uint32_t blocks, int first_rank = 0, uint64_t timeout_ns = kTimeoutNs) {
    std::vector<std::thread> threads;
    for (int r = first_rank; r < kRanks; ++r)
      threads.emplace_back([=] {
        const Peers peers = peers_of(r, timeout_ns);
        for (int call = 0; call < calls; ++call) {
          fill(r, call);
          if (call % 2 == 1) run_grid(1, [&] { barrier(peers); });
          run_grid(blocks, [&] { run_kernel(peers); });
          rank(r).wrong += count_wrong_outputs(r, call);
        }
      });
    for (std::thread& thread : threads) thread.join();
  }

  bool is_guarded(int r) {
    return rank(r).operand.is_guarded() && rank(r).result.is_guarded() &&
           rank(r).staged.is_guarded();
  }

 private:
  static const PrecisionInfo& precision() {
    static const PrecisionInfo info =
        precision_info(Numbers<T>::type == DEEPBENCH_F32   ? "float"
                       : Numbers<T>::type == DEEPBENCH_F16 ? "half"
                                                           : "bfloat16");
    return info;
  }
  GuardedOperand& result(int r) { return of_.has_one_array() ? rank(r).operand : rank(r).result; }
  Peers peers_of(int r, uint64_t timeout_ns) {
    Peers peers = {};
    for (int i = 0; i < kRanks; ++i) peers.control.of[i] = &rank(i).control;
    peers.timeout_ns = timeout_ns;
    peers.host_missing = &rank(r).host_missing;
    peers.rank = uint32_t(r);
    return peers;
  }

  static void barrier(const Peers& peers) {
    uint32_t step;
    if (begin_call(peers, &step) && rank_barrier<kRanks>(peers, step + 1))
      end_call(peers, step + 1);
  }
  void run_kernel(const Peers& peers) {
    if (of_.count(kRanks) * sizeof(Stored) % 16 == 0)
      run_instance<true>(peers);
    else
      run_instance<false>(peers);
  }
  // As exchange_expression() names them.
  template <bool kWhole>
  void run_instance(const Peers& peers) {
    const int r = int(peers.rank);
    PeerAddresses staged = {};
    for (int i = 0; i < kRanks; ++i) staged.of[i] = rank(i).staged.vectors();
    const PeerBlocks blocks = cuda::peer_blocks(of_, r, kRanks);
    const auto* const from = rank(r).operand.template as<uint16_t>();
    auto* const to = result(r).template as<uint16_t>();
    switch (of_.kind) {
      case CollectiveKind::kReduceScatter:
        return reduce_blocks<T, kRanks, kWhole, 2>(peers, staged, blocks, from, to);
      case CollectiveKind::kAllToAll:
        return exchange_blocks<kRanks, kRanks, kRanks, kWhole, 2>(peers, staged, blocks, from, to);
      case CollectiveKind::kAllGather:
        return exchange_blocks<kRanks, 1, kRanks, kWhole, 2>(peers, staged, blocks, from, to);
      default:
        return exchange_blocks<kRanks, 1, 1, kWhole, 4>(peers, staged, blocks, from, to);
    }
  }

  float operand_element(int call, uint32_t r, uint64_t i) const {
    const uint64_t seed = kSeed + uint64_t(call);
    return of_.is_sum() ? deepbench_summand(Numbers<T>::type, seed, r, kRanks, i)
                        : float(deepbench_element(Numbers<T>::type, seed, r, i));
  }
  void fill(int r, int call) {
    auto* const poisoned = result(r).template as<uint16_t>();
    for (uint64_t i = 0; i < of_.result_elements(kRanks) * sizeof(Stored) / 2; ++i)
      poisoned[i] = kPoison;
    if (of_.has_one_array() && of_.has_result(r, kRanks)) return;
    for (uint64_t i = 0; i < of_.operand_elements(kRanks); ++i)
      rank(r).operand.template as<Stored>()[i] =
          Numbers<T>::stored(operand_element(call, uint32_t(r), i));
  }
  float expected_output(int r, int call, uint64_t i) const {
    const SourceElement source = of_.source(uint32_t(r), kRanks, i);
    if (!of_.is_sum()) return operand_element(call, source.rank, source.index);
    float sum = 0;
    for (uint32_t other = 0; other < kRanks; ++other)
      sum += operand_element(call, other, source.index);
    return sum;
  }
  // The root of a broadcast must keep its array.
  uint64_t count_wrong_outputs(int r, int call) {
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < of_.result_elements(kRanks); ++i)
      wrong += Numbers<T>::value(result(r).template as<Stored>()[i]) != expected_output(r, call, i);
    return wrong;
  }

  Collective of_;
  std::vector<std::unique_ptr<EmulatedRank>> ranks_;
};

template <class T, int kRanks>
void check_collectives(uint64_t count, uint32_t blocks) {
  for (const CollectiveKind kind : kKinds) {
    INFO(name_of(kind), ", ", kRanks, " ranks, count ", count, ", ", blocks, " blocks");
    EmulatedMachine<T, kRanks> machine(kind, count);
    machine.run(4, blocks);
    for (int r = 0; r < kRanks; ++r) {
      CHECK(machine.rank(r).wrong == 0);
      CHECK(machine.rank(r).host_missing == 0);
      CHECK(machine.is_guarded(r));
    }
  }
}

template <class T>
void check_ranks(uint64_t count, uint32_t blocks) {
  check_collectives<T, 2>(count, blocks);
  check_collectives<T, 3>(count, blocks);
  check_collectives<T, 4>(count, blocks);
  check_collectives<T, 8>(count, blocks);
}

TEST_CASE("kernels on the host: one-shot collectives of blocks are correct in consecutive calls") {
  for (const uint64_t count : {1, 9, 64, 331}) {
    check_ranks<Float>(count, 2);
    check_ranks<Half>(count, 2);
    check_ranks<Bfloat16>(count, 2);
  }
  check_ranks<Half>(2049, 3);
  check_ranks<Float>(2048, 1);
}

TEST_CASE("kernels on the host: one-shot collectives of blocks report a missing rank") {
  for (const CollectiveKind kind : kKinds) {
    INFO(name_of(kind));
    EmulatedMachine<Float, 3> machine(kind, 100);
    machine.run(20, 2, 1, 20'000'000);
    CHECK(machine.rank(1).host_missing == 1);
    CHECK(machine.rank(2).host_missing == 1);
  }
}

}  // namespace
}  // namespace deepbench::cuda_test
