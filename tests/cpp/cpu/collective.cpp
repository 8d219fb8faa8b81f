// Collectives on a ring of threads, over sockets and shared memory, and what is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/backend/collective_implementation.hpp"
#include "harness.hpp"
#include "operand.hpp"
#include "ops/collective/ring_algorithm.hpp"
#include "ring_of_threads.hpp"

namespace deepbench::cpu {
namespace {

using cpu_test::Ring;
using cpu_test::ring_of;
using cpu_test::run_on_ranks;
using cpu_test::store_element;

constexpr uint64_t kSeed = 7;

struct RankArrays {
  std::vector<std::byte> operand, result, scratch;
};

float operand_value(const Collective& of, int ranks, int rank, uint64_t index) {
  const deepbench_type type = of.precision.c;
  return of.is_sum() ? deepbench_summand(type, kSeed, uint32_t(rank), uint32_t(ranks), index)
                     : float(deepbench_element(type, kSeed, uint32_t(rank), index));
}

// Results that nothing has been written to hold bytes of 0xee, as the array of a rank does that
// waits for a broadcast.
std::vector<RankArrays> arrays_of(const Collective& of, int ranks) {
  const auto bytes = uint64_t(size_of(of.precision.c));
  std::vector<RankArrays> all(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    RankArrays& mine = all[size_t(rank)];
    mine.operand.resize(of.operand_elements(ranks) * bytes);
    for (uint64_t i = 0; i < of.operand_elements(ranks); ++i)
      store_element(of.precision.c, mine.operand.data(), i, operand_value(of, ranks, rank, i));
    mine.result.assign(of.result_elements(ranks) * bytes, std::byte{0xee});
    if (!of.has_result(rank, ranks)) mine.result = mine.operand;
    mine.scratch.resize(ring_scratch_bytes(of, ranks));
  }
  return all;
}

uint64_t wrong_results(const Collective& of, int ranks, const std::vector<RankArrays>& all) {
  uint64_t wrong = 0;
  for (int rank = 0; rank < ranks; ++rank)
    for (uint64_t i = 0; i < of.result_elements(ranks); ++i) {
      const SourceElement source = of.source(uint32_t(rank), uint32_t(ranks), i);
      double expected = 0;
      if (of.is_sum())
        for (int other = 0; other < ranks; ++other)
          expected += double(operand_value(of, ranks, other, source.index));
      else
        expected = double(operand_value(of, ranks, int(source.rank), source.index));
      wrong += element(all[size_t(rank)].result.data(), of.precision.c, i) != expected;
    }
  return wrong;
}

TEST_CASE("the ring computes every collective exactly on every rank") {
  for (const NamedCollective& one : kCollectives)
    for (const char* const precision : {"float", "half", "bfloat16"})
      for (const int ranks : {2, 3, 4}) {
        Ring ring = ring_of(ranks, precision != std::string("half"));
        for (const int64_t elements : {12, 396, 300000}) {
          if (elements > 396 && precision != std::string("float")) continue;  // to save time
          const Collective of = {one.kind, elements, precision_info(precision), false};
          std::vector<RankArrays> all = arrays_of(of, ranks);
          run_on_ranks(ranks, [&](int rank) {
            RankArrays& mine = all[size_t(rank)];
            for (int call = 0; call < 2; ++call)
              ring_collective(*ring[size_t(rank)], {rank, ranks}, of, mine.operand.data(),
                              mine.result.data(), mine.scratch.data());
          });
          CAPTURE(one.name);
          CAPTURE(precision);
          CAPTURE(ranks);
          CAPTURE(elements);
          CHECK(wrong_results(of, ranks, all) == 0);
        }
      }
}

TEST_CASE("two ranks need no memory besides the operands, and more need some for blocks") {
  const auto bytes = [](CollectiveKind kind, int ranks) {
    return ring_scratch_bytes({kind, 1200, precision_info("half"), false}, ranks);
  };
  for (const NamedCollective& one : kCollectives) CHECK(bytes(one.kind, 2) == 0);
  CHECK(bytes(CollectiveKind::kReduceScatter, 4) == 2 * 600);
  CHECK(bytes(CollectiveKind::kAllToAll, 4) == 4 * 600);
  CHECK(bytes(CollectiveKind::kAllGather, 4) == 0);
}

TEST_CASE("a number of elements that the ranks do not divide is refused with one that they do") {
  const auto refusal = [](CollectiveKind kind, int64_t elements) {
    try {
      plugin::require_equal_blocks({kind, elements, precision_info("float"), false}, 3);
    } catch (const plugin::Error& error) {
      CHECK(error.status() == DEEPBENCH_UNSUPPORTED);
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(CollectiveKind::kAllGather, 100) ==
        "all_gather needs a number of elements that its 3 ranks divide, such as elements=102 "
        "instead of 100");
  CHECK(refusal(CollectiveKind::kReduceScatter, 2).find("elements=3 instead of 2") !=
        std::string::npos);
  CHECK(refusal(CollectiveKind::kAllToAll, 102) == "");
  CHECK(refusal(CollectiveKind::kBroadcast, 100) == "");
  CHECK(refusal(CollectiveKind::kSendRecv, 100) == "");
}

TEST_CASE("the refusal of a single process names the collective") {
  for (const NamedCollective& one : kCollectives) {
    const std::string name(one.name);
    const auto answer = cpu_test::plan_status(name, "elements=8 precision=float");
    CHECK(answer.status == DEEPBENCH_UNSUPPORTED);
    CHECK(answer.error.find(name + " needs at least two ranks: --ranks 2") == 0);
    CHECK(cpu_test::plan_status(name, "elements=8 precision=int8")
              .error.find(name + " supports the precisions float") == 0);
  }
}

}  // namespace
}  // namespace deepbench::cpu
