// Sums by peer access, as far as they need no device: the ways and their names, sizes, instances.
#include "ops/all_reduce/peer_way.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "kernels/compile.hpp"
#include "libraries.hpp"

namespace deepbench::cuda_test {
namespace {

using cuda::PeerKind;
using cuda::PeerWay;

AllReduce sum_over(const char* precision, int64_t elements) {
  return {elements, precision_info(precision), false};
}

constexpr int kMultiprocessors = 132;

TEST_CASE("peer: the first choice is by size, and every way has its name back") {
  CHECK(cuda::peer_ways(sum_over("float", 256), 2).front() == "one_shot_ll");
  CHECK(cuda::peer_ways(sum_over("float", 100000), 2).front() == "one_shot_ll");
  CHECK(cuda::peer_ways(sum_over("float", 65536), 4).front() == "one_shot");
  CHECK(cuda::peer_ways(sum_over("float", 100000), 4).front() == "two_shot");
  CHECK(cuda::peer_ways(sum_over("half", 8 << 20), 3).front() == "two_shot_push");
  CHECK(cuda::peer_ways(sum_over("half", 1 << 20), 8).front() == "two_shot");
  CHECK(cuda::peer_ways(sum_over("half", 64 << 20), 4).front() == "ring");
  CHECK(cuda::peer_ways(sum_over("half", 64 << 20), 8).front() == "ring");
  CHECK(cuda::peer_ways(sum_over("half", 64 << 20), 2).front() == "ring");
  CHECK(cuda::peer_ways(sum_over("float", 3 << 18), 2).front() == "two_shot");
  CHECK(cuda::peer_ways(sum_over("float", (3 << 18) + 1), 2).front() == "ring");
  CHECK(cuda::peer_ways(sum_over("float", 1 << 20), 4).front() == "two_shot");
  CHECK(cuda::peer_ways(sum_over("float", (1 << 20) + 1), 4).front() == "two_shot_push");
  for (const int64_t elements : {1, 1000, 100000, 64 << 20})
    for (const int ranks : {2, 3, 4, 8}) {
      const AllReduce sum = sum_over("float", elements);
      const std::vector<std::string> ways = cuda::peer_ways(sum, ranks);
      for (const char* always : {"two_shot", "two_shot_push", "ring"})
        CHECK(std::count(ways.begin(), ways.end(), always) == 1);
      for (const std::string& name : ways) {
        INFO(name, " of ", elements, " by ", ranks);
        CHECK(std::count(ways.begin(), ways.end(), name) == 1);
        const PeerWay way = cuda::peer_way(name, sum, ranks, kMultiprocessors);
        CHECK(way.blocks >= 1);
        CHECK(way.blocks <= PEER_MOST_BLOCKS);
        CHECK(way.threads <= PEER_THREADS);
        CHECK((way.at_once >= 1 && way.at_once <= 8));
      }
    }
  const AllReduce large = sum_over("float", 64 << 20);
  CHECK(cuda::peer_way("two_shot/32", large, 2, kMultiprocessors).blocks == 32);
  CHECK(cuda::peer_way("two_shot", large, 2, kMultiprocessors).blocks == kMultiprocessors);
  CHECK(cuda::peer_way("two_shot", large, 2, kMultiprocessors).at_once == 8);
  for (const char* const name : {"one_shot", "two_shot", "two_shot_push", "ring"})
    CHECK(cuda::peer_way(name, large, 3, kMultiprocessors).blocks == 64);
  CHECK(cuda::peer_way("ring/96", large, 4, kMultiprocessors).blocks == 96);
  CHECK(cuda::peer_way("one_shot", sum_over("float", 1), 2, kMultiprocessors).blocks == 1);
  CHECK_THROWS_AS(cuda::peer_way("three_shot", large, 2, kMultiprocessors), plugin::Error);
}

TEST_CASE("peer: shared memory of every way") {
  const AllReduce sum = sum_over("float", 5);  // a vector and a part
  CHECK(cuda::shared_bytes(PeerKind::kOneShot, sum, 4) == 2 * 2 * 16);
  CHECK(cuda::shared_bytes(PeerKind::kOneShotLl, sum, 4) == 2 * 4 * 3 * 16);
  CHECK(cuda::shared_bytes(PeerKind::kTwoShotPush, sum, 4) == 4 * (32 + 32) * 16);
  CHECK(cuda::shared_bytes(PeerKind::kRing, sum, 4) == 2 * 16);
  CHECK(cuda::shared_bytes(PeerKind::kTwoShot, sum, 4) == 0);
}

TEST_CASE("peer: the host names instances that compile") {
  if (!cuda::report<nvidia::Nvrtc>().usable()) {
    MESSAGE("nothing tested: " << cuda::report<nvidia::Nvrtc>().reason);
    return;
  }
  const cuda::Source source = cuda::source_of_file("peer");
  for (const PeerKind kind : {PeerKind::kOneShotLl, PeerKind::kOneShot, PeerKind::kTwoShot,
                              PeerKind::kTwoShotPush, PeerKind::kRing}) {
    const std::string expression = cuda::peer_expression({kind, 1, 1, 2}, DEEPBENCH_BF16, 3);
    INFO(expression);
    CHECK_FALSE(cuda::compile(source, expression, 90).code.empty());
  }
  CHECK_FALSE(cuda::compile(source, "meet_all<2>", 90).code.empty());
}

}  // namespace
}  // namespace deepbench::cuda_test
