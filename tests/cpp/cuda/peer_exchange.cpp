// One-shot collectives of blocks over peer memory: what the host computes for the kernels, and the
// kernels in one process. Ranks are streams of one device, with grids small enough to run
// concurrently, or of all devices if there are several. tests/gpu/test_collectives.py covers memory
// that several processes share.
#include "ops/collective/peer_exchange.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "deepbench/fill.h"
#include "gpu.hpp"
#include "graph.hpp"
#include "kernels/compile.hpp"
#include "libraries.hpp"
#include "ops/collective/peer_team.hpp"
#include "peer_devices.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::AllocationKind;
using cuda::Buffer;
using cuda::ExchangePlan;

constexpr uint64_t kSeed = 31;
constexpr CollectiveKind kKinds[] = {CollectiveKind::kAllGather, CollectiveKind::kReduceScatter,
                                     CollectiveKind::kAllToAll, CollectiveKind::kBroadcast,
                                     CollectiveKind::kSendRecv};

// `count` elements in a block, or in all.
Collective collective_of(CollectiveKind kind, const char* precision, int64_t count, int ranks) {
  Collective of = {kind, count, precision_info(precision), false};
  if (of.has_blocks()) of.elements *= ranks;
  return of;
}

// ---- without a device ---------------------------------------------------------------------------

constexpr int kMultiprocessors = 132;

TEST_CASE("peer: every rank knows which blocks it sends and receives") {
  const auto blocks_of = [](CollectiveKind kind, int rank) {
    return cuda::peer_blocks(collective_of(kind, "half", 9, 3), rank, 3);
  };
  for (const CollectiveKind kind : kKinds)
    for (int rank = 0; rank < 3; ++rank) {
      CAPTURE(name_of(kind));
      const PeerBlocks blocks = blocks_of(kind, rank);
      CHECK(blocks.halfwords == 9);
      CHECK(blocks.vectors == 2);
      CHECK(blocks.sends == (kind != CollectiveKind::kBroadcast || rank == 2));
      CHECK(blocks.receives == (kind != CollectiveKind::kBroadcast || rank != 2));
    }
  CHECK(blocks_of(CollectiveKind::kAllGather, 1).first_source == 0);
  CHECK(blocks_of(CollectiveKind::kAllGather, 1).source_block == 0);
  CHECK(blocks_of(CollectiveKind::kReduceScatter, 1).first_source == 0);
  CHECK(blocks_of(CollectiveKind::kReduceScatter, 1).source_block == 1);
  CHECK(blocks_of(CollectiveKind::kAllToAll, 2).source_block == 2);
  CHECK(blocks_of(CollectiveKind::kBroadcast, 0).first_source == 2);
  CHECK(blocks_of(CollectiveKind::kSendRecv, 0).first_source == 2);
  CHECK(blocks_of(CollectiveKind::kSendRecv, 2).first_source == 1);
}

TEST_CASE("peer: the grid and the shared memory of a one-shot collective follow its blocks") {
  const auto shared = [](CollectiveKind kind) {
    return cuda::exchange_shared_bytes(collective_of(kind, "float", 5, 4), 4);
  };
  CHECK(shared(CollectiveKind::kAllGather) == 2 * 2 * 16);
  CHECK(shared(CollectiveKind::kBroadcast) == 2 * 2 * 16);
  CHECK(shared(CollectiveKind::kAllToAll) == 2 * 4 * 2 * 16);
  CHECK(shared(CollectiveKind::kReduceScatter) == 2 * 4 * 2 * 16);
  for (const CollectiveKind kind : kKinds)
    for (const int ranks : {2, 3, 4, 8})
      for (const int64_t count : {1, 5000, 4 << 20}) {
        CAPTURE(name_of(kind));
        CAPTURE(ranks);
        CAPTURE(count);
        const ExchangePlan plan = cuda::exchange_plan(collective_of(kind, "float", count, ranks),
                                                      ranks, kMultiprocessors);
        const int limit = ranks > 2 ? 64 : kMultiprocessors;
        CHECK(plan.blocks == (count == 1 ? 1 : count == 5000 ? 3 : limit));
        CHECK(plan.threads == PEER_THREADS);
      }
}

TEST_CASE("peer: threads of large blocks have several vectors in flight") {
  constexpr int64_t kFloats = 4 * 32768;  // of a block with few vectors
  const auto in_flight = [](CollectiveKind kind, int64_t floats, int ranks) {
    return cuda::exchange_plan(collective_of(kind, "float", floats, ranks), ranks, kMultiprocessors)
        .vectors_in_flight;
  };
  CHECK(in_flight(CollectiveKind::kBroadcast, kFloats, 8) == 1);
  CHECK(in_flight(CollectiveKind::kBroadcast, kFloats + 4, 8) == 4);
  CHECK(in_flight(CollectiveKind::kAllGather, kFloats + 4, 4) == 4);
  CHECK(in_flight(CollectiveKind::kAllGather, kFloats + 4, 8) == 2);
}

TEST_CASE("peer: the instances for one-shot collectives that the host names compile") {
  CHECK(cuda::exchange_expression({1, 1, 4}, collective_of(CollectiveKind::kAllToAll, "half", 8, 3),
                                  3) == "exchange_blocks<3, 3, 3, true, 4>");
  CHECK(cuda::exchange_expression({1, 1, 1},
                                  collective_of(CollectiveKind::kAllGather, "half", 9, 3),
                                  3) == "exchange_blocks<3, 1, 3, false, 1>");
  if (!cuda::report<nvidia::Nvrtc>().usable()) {
    MESSAGE("nothing compiled: " << cuda::report<nvidia::Nvrtc>().reason);
    return;
  }
  const cuda::Source source = cuda::read_kernel_source("peer_exchange");
  for (const CollectiveKind kind : kKinds)
    for (const int64_t count : {8, 9}) {
      const std::string expression =
          cuda::exchange_expression({1, 1, 2}, collective_of(kind, "bfloat16", count, 3), 3);
      INFO(expression);
      CHECK_FALSE(cuda::compile(source, expression, 90).code.empty());
    }
}

// ---- on devices ---------------------------------------------------------------------------------

uint64_t bytes_of(const Collective& of, uint64_t elements) {
  return elements * uint64_t(size_of(of.precision.c));
}

// A broadcast has one array.
struct Rank : RankOnDevice {
  Rank(const ExchangePlan& plan, const Collective& of, int rank, int ranks, int device)
      : RankOnDevice(device),
        kernel(plan, of, rank, ranks, home),
        operand(bytes_of(of, of.operand_elements(ranks)), AllocationKind::kDedicated),
        result(bytes_of(of, of.result_elements(ranks)), AllocationKind::kDedicated),
        staged(cuda::exchange_shared_bytes(of, ranks), AllocationKind::kDedicated) {}

  const cuda::ExchangeKernel kernel;
  Buffer operand, result, staged;
};

class DevicesUnderTest {
 public:
  DevicesUnderTest(const Collective& of, int ranks, int devices, uint32_t blocks) : of_(of) {
    enable_peer_access(devices);
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(std::make_unique<Rank>(ExchangePlan{blocks, PEER_THREADS, 2}, of, rank,
                                              ranks, rank % devices));
  }
  int ranks() const { return int(ranks_.size()); }
  Rank& rank(int r) { return *ranks_[size_t(r)]; }

  void fill(uint64_t round) {
    for (int r = 0; r < ranks(); ++r) {
      std::vector<uint16_t> words(bytes_of(of_, of_.operand_elements(ranks())) / 2);
      for (uint64_t i = 0; i < of_.operand_elements(ranks()); ++i)
        store_number(words, of_.precision.c, i, operand_element(round, uint32_t(r), i));
      rank(r).copy(rank(r).operand.data(), words.data(), 2 * words.size());
      if (of_.has_result(r, ranks())) rank(r).fill_buffer(result(r), 0x7b);
    }
  }
  void enqueue(int r) {
    Peers peers = {};
    PeerAddresses staged = {};
    for (int i = 0; i < ranks(); ++i) {
      peers.control.of[i] = rank(i).control.data();
      staged.of[i] = rank(i).staged.data();
    }
    peers.timeout_ns = cuda::kCallTimeoutNs;
    peers.host_missing = reinterpret_cast<uint32_t*>(rank(r).host_missing.data());
    peers.rank = uint32_t(r);
    rank(r).home.make_current();
    rank(r).kernel.enqueue(rank(r).stream, peers, staged, rank(r).operand.data(), result(r).data());
  }
  void run(int calls) {
    for (int call = 0; call < calls; ++call)
      for (int r = 0; r < ranks(); ++r) enqueue(r);
    wait();
  }
  void wait() {
    for (int r = 0; r < ranks(); ++r) rank(r).wait();
  }
  uint32_t reported_missing_rank(int r) { return rank(r).reported_missing_rank(); }
  // On all ranks; the root of a broadcast must keep its array.
  uint64_t count_wrong_outputs(uint64_t round) {
    uint64_t wrong = 0;
    for (int r = 0; r < ranks(); ++r) {
      std::vector<uint16_t> words(bytes_of(of_, of_.result_elements(ranks())) / 2);
      rank(r).copy(words.data(), result(r).data(), 2 * words.size());
      for (uint64_t i = 0; i < of_.result_elements(ranks()); ++i)
        wrong += number_at(words, of_.precision.c, i) != expected_output(round, r, i);
    }
    return wrong;
  }

 private:
  const Buffer& result(int r) { return of_.has_one_array() ? rank(r).operand : rank(r).result; }
  float operand_element(uint64_t round, uint32_t r, uint64_t i) const {
    const deepbench_type type = of_.precision.c;
    return of_.is_sum() ? deepbench_summand(type, kSeed + round, r, uint32_t(ranks()), i)
                        : float(deepbench_element(type, kSeed + round, r, i));
  }
  float expected_output(uint64_t round, int r, uint64_t i) const {
    const SourceElement source = of_.source(uint32_t(r), uint32_t(ranks()), i);
    if (!of_.is_sum()) return operand_element(round, source.rank, source.index);
    float sum = 0;
    for (int other = 0; other < ranks(); ++other)
      sum += operand_element(round, uint32_t(other), source.index);
    return sum;
  }
  const Collective of_;
  std::vector<std::unique_ptr<Rank>> ranks_;
};

void check_collectives(const char* precision, int64_t count, int ranks, uint32_t blocks) {
  for (const CollectiveKind kind : kKinds)
    for (const int devices : device_counts()) {
      INFO(name_of(kind), " ", precision, " of ", count, " by ", ranks, " ranks on ", devices);
      DevicesUnderTest machine(collective_of(kind, precision, count, ranks), ranks, devices,
                               blocks);
      for (uint64_t round = 0; round < 2; ++round) {
        machine.fill(round);
        machine.run(3);
        for (int r = 0; r < ranks; ++r) REQUIRE(machine.reported_missing_rank(r) == 0);
        CHECK(machine.count_wrong_outputs(round) == 0);
      }
    }
}

TEST_CASE("gpu: peer: one-shot collectives of blocks are exact in every type and size") {
  REQUIRE_GPU();
  for (const int64_t count : {1, 9, 1000, 4099}) {
    check_collectives("float", count, 2, 3);
    check_collectives("half", count, 4, 2);
    check_collectives("bfloat16", count, 3, 1);
  }
  check_collectives("float", 1 << 18, 4, 16);
  check_collectives("half", (1 << 17) + 5, 4, 16);
  check_collectives("bfloat16", 20001, 8, 4);
}

TEST_CASE("gpu: peer: one-shot collectives of blocks follow one another, also as a graph") {
  REQUIRE_GPU();
  const int devices = device_counts().back();
  for (const CollectiveKind kind : kKinds) {
    INFO(name_of(kind));
    DevicesUnderTest machine(collective_of(kind, "half", 20011, 4), 4, devices, 8);
    machine.fill(0);
    machine.run(500);
    CHECK(machine.count_wrong_outputs(0) == 0);
    std::vector<std::unique_ptr<cuda::Graph>> graphs;
    for (int r = 0; r < machine.ranks(); ++r) {
      machine.rank(r).home.make_current();
      graphs.push_back(std::make_unique<cuda::Graph>(machine.rank(r).stream, [&] {
        for (int call = 0; call < 51; ++call) machine.enqueue(r);
      }));
    }
    machine.fill(1);
    for (int replay = 0; replay < 10; ++replay)
      for (int r = 0; r < machine.ranks(); ++r) {
        machine.rank(r).home.make_current();
        graphs[size_t(r)]->launch(machine.rank(r).stream);
      }
    machine.wait();
    CHECK(machine.count_wrong_outputs(1) == 0);
    for (int r = 0; r < machine.ranks(); ++r) CHECK(machine.reported_missing_rank(r) == 0);
  }
}

}  // namespace
}  // namespace deepbench::cuda_test
