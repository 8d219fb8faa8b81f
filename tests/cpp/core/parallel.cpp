// Host work in parts: every index once, exceptions come through.
#include "deepbench/core/parallel.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace deepbench {
namespace {

TEST_CASE("every index is visited once, each part on its own") {
  CHECK(parallel_width() >= 1);
  CHECK(parallel_width() <= 16);
  for (int64_t count : {0, 1, 2, 7, 1000}) {
    for (int64_t smallest : {0, 1, 3, 5000}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      std::vector<std::atomic<int>> parts(static_cast<size_t>(parallel_width()));
      parallel_for(count, smallest, [&](int64_t begin, int64_t end, int part) {
        ++parts[static_cast<size_t>(part)];
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (auto& visit : visits) CHECK(visit == 1);
      for (auto& part : parts) CHECK(part <= 1);
    }
  }
}

TEST_CASE("an exception of a part is thrown on the caller's thread") {
  const auto fail_at_the_end = [](int64_t, int64_t end, int) {
    if (end == 1000) throw std::runtime_error("the last part");
  };
  CHECK_THROWS_WITH_AS(parallel_for(1000, 1, fail_at_the_end), "the last part", std::runtime_error);
  CHECK_THROWS_AS(parallel_for(1000, 1000, fail_at_the_end), std::runtime_error);
}

}  // namespace
}  // namespace deepbench
