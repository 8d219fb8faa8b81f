// The parts of all_reduce over peer memory that need no device: algorithms, their names, sizes and
// kernel instances.
#include "ops/all_reduce/peer_algorithm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "kernels/compile.hpp"
#include "libraries.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::PeerAlgorithm;
using cuda::PeerPlan;

Collective sum_over(const char* precision, int64_t elements) {
  return {CollectiveKind::kAllReduce, elements, precision_info(precision), false};
}

constexpr int kMultiprocessors = 132;

TEST_CASE("peer: the size determines the default, and every candidate name has a plan") {
  CHECK(cuda::peer_candidates(sum_over("float", 256), 2).front() == "one_shot_ll");
  CHECK(cuda::peer_candidates(sum_over("float", 100000), 2).front() == "one_shot_ll");
  CHECK(cuda::peer_candidates(sum_over("float", 65536), 4).front() == "one_shot");
  CHECK(cuda::peer_candidates(sum_over("float", 100000), 4).front() == "two_shot");
  CHECK(cuda::peer_candidates(sum_over("half", 8 << 20), 3).front() == "two_shot_push");
  CHECK(cuda::peer_candidates(sum_over("half", 1 << 20), 8).front() == "two_shot");
  CHECK(cuda::peer_candidates(sum_over("half", 64 << 20), 4).front() == "ring");
  CHECK(cuda::peer_candidates(sum_over("half", 64 << 20), 8).front() == "ring");
  CHECK(cuda::peer_candidates(sum_over("half", 64 << 20), 2).front() == "ring");
  CHECK(cuda::peer_candidates(sum_over("float", 3 << 18), 2).front() == "two_shot");
  CHECK(cuda::peer_candidates(sum_over("float", (3 << 18) + 1), 2).front() == "ring");
  CHECK(cuda::peer_candidates(sum_over("float", 1 << 20), 4).front() == "two_shot");
  CHECK(cuda::peer_candidates(sum_over("float", (1 << 20) + 1), 4).front() == "two_shot_push");
  for (const int64_t elements : {1, 1000, 100000, 64 << 20})
    for (const int ranks : {2, 3, 4, 8}) {
      const Collective sum = sum_over("float", elements);
      const std::vector<std::string> candidates = cuda::peer_candidates(sum, ranks);
      for (const char* always : {"two_shot", "two_shot_push", "ring"})
        CHECK(std::count(candidates.begin(), candidates.end(), always) == 1);
      for (const std::string& name : candidates) {
        INFO(name, " of ", elements, " by ", ranks);
        CHECK(std::count(candidates.begin(), candidates.end(), name) == 1);
        const PeerPlan plan = cuda::peer_plan(name, sum, ranks, kMultiprocessors);
        CHECK(plan.blocks >= 1);
        CHECK(plan.blocks <= PEER_MAX_BLOCKS);
        CHECK(plan.threads <= PEER_THREADS);
        CHECK((plan.vectors_in_flight >= 1 && plan.vectors_in_flight <= 8));
      }
    }
  const Collective large = sum_over("float", 64 << 20);
  CHECK(cuda::peer_plan("two_shot/32", large, 2, kMultiprocessors).blocks == 32);
  CHECK(cuda::peer_plan("two_shot", large, 2, kMultiprocessors).blocks == kMultiprocessors);
  CHECK(cuda::peer_plan("two_shot", large, 2, kMultiprocessors).vectors_in_flight == 8);
  for (const char* const name : {"one_shot", "two_shot", "two_shot_push", "ring"})
    CHECK(cuda::peer_plan(name, large, 3, kMultiprocessors).blocks == 64);
  CHECK(cuda::peer_plan("ring/96", large, 4, kMultiprocessors).blocks == 96);
  CHECK(cuda::peer_plan("ring/96", large, 4, 78).blocks == 78);
  CHECK(cuda::peer_plan("one_shot", sum_over("float", 1), 2, kMultiprocessors).blocks == 1);
  CHECK_THROWS_AS(cuda::peer_plan("three_shot", large, 2, kMultiprocessors), plugin::Error);
}

TEST_CASE("peer: every algorithm has the expected amount of shared memory") {
  const Collective sum = sum_over("float", 5);  // one vector and one element
  CHECK(cuda::peer_shared_bytes(PeerAlgorithm::kOneShot, sum, 4) == 2 * 2 * 16);
  CHECK(cuda::peer_shared_bytes(PeerAlgorithm::kOneShotLl, sum, 4) == 2 * 4 * 3 * 16);
  CHECK(cuda::peer_shared_bytes(PeerAlgorithm::kTwoShotPush, sum, 4) == 4 * (32 + 32) * 16);
  CHECK(cuda::peer_shared_bytes(PeerAlgorithm::kRing, sum, 4) == 2 * 16);
  CHECK(cuda::peer_shared_bytes(PeerAlgorithm::kTwoShot, sum, 4) == 0);
}

TEST_CASE("peer: the kernel instances that the host names compile") {
  if (!cuda::report<nvidia::Nvrtc>().usable()) {
    MESSAGE("nothing tested: " << cuda::report<nvidia::Nvrtc>().reason);
    return;
  }
  const cuda::Source source = cuda::read_kernel_source("peer");
  for (const PeerAlgorithm algorithm :
       {PeerAlgorithm::kOneShotLl, PeerAlgorithm::kOneShot, PeerAlgorithm::kTwoShot,
        PeerAlgorithm::kTwoShotPush, PeerAlgorithm::kRing}) {
    const std::string expression = cuda::peer_expression({algorithm, 1, 1, 2}, DEEPBENCH_BF16, 3);
    INFO(expression);
    CHECK_FALSE(cuda::compile(source, expression, 90).code.empty());
  }
  CHECK_FALSE(cuda::compile(source, "barrier_kernel<2>", 90).code.empty());
}

}  // namespace
}  // namespace deepbench::cuda_test
