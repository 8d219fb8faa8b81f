// Tests that parallel host work visits every index once and passes exceptions on.
#include "deepbench/core/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace deepbench {
namespace {

TEST_CASE("every index is visited once, each by one part") {
  CHECK(parallel_threads() >= 1);
  CHECK(parallel_threads() <= 16);
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    for (int64_t smallest : {0, 1, 3, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      std::vector<std::atomic<int>> parts(static_cast<size_t>(parallel_threads()));
      parallel_for(count, smallest, [&](int64_t begin, int64_t end, int part) {
        ++parts[static_cast<size_t>(part)];
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (auto& visit : visits) CHECK(visit == 1);
      for (auto& part : parts) CHECK(part <= 1);
    }
  }
}

TEST_CASE("an exception of a part is rethrown on the calling thread") {
  const auto fail_at_the_end = [](int64_t, int64_t end, int) {
    if (end == 1000) throw std::runtime_error("the last part");
  };
  CHECK_THROWS_WITH_AS(parallel_for(1000, 1, fail_at_the_end), "the last part", std::runtime_error);
  CHECK_THROWS_AS(parallel_for(1000, 1000, fail_at_the_end), std::runtime_error);
}

TEST_CASE("every task runs once for any number of threads") {
  for (int64_t count : {0, 1, 2, 100}) {
    for (int64_t threads : {0, 1, 2, 1000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      parallel_tasks(count, threads, [&](int64_t task) { ++visits[static_cast<size_t>(task)]; });
      for (auto& visit : visits) CHECK(visit == 1);
    }
  }
}

TEST_CASE("an exception of a task is rethrown on the calling thread, and no task starts after it") {
  for (int64_t threads : {1, 4}) {
    std::atomic<int> done{0};
    CHECK_THROWS_WITH_AS(parallel_tasks(1000000, threads,
                                        [&](int64_t) {
                                          if (++done == 5) throw std::runtime_error("the fifth");
                                        }),
                         "the fifth", std::runtime_error);
    CHECK(done < 1000000);
  }
}

}  // namespace
}  // namespace deepbench
