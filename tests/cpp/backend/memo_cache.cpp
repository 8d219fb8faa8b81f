// Tests what a cache of answers remembers.
#include "deepbench/backend/memo_cache.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

namespace deepbench::plugin {
namespace {

TEST_CASE("a cache computes each value once") {
  MemoCache<std::string, int> cache;
  int computed = 0;
  const auto get = [&](const std::string& key) {
    return cache.get(key, [&] { return ++computed; });
  };
  CHECK(get("a") == 1);
  CHECK(get("b") == 2);
  CHECK(get("a") == 1);
}

TEST_CASE("a cache stores nothing when the computation throws") {
  MemoCache<int, int> cache;
  const auto fail = []() -> int { throw std::runtime_error("no value"); };
  CHECK_THROWS_WITH(cache.get(1, fail), "no value");
  CHECK(cache.get(1, [] { return 5; }) == 5);
}

}  // namespace
}  // namespace deepbench::plugin
