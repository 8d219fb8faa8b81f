// What a cache remembers, and when it forgets.
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
  CHECK_FALSE(cache.has("a"));
  CHECK(get("a") == 1);
  CHECK(get("b") == 2);
  CHECK(get("a") == 1);
  CHECK(cache.has("a"));
}

TEST_CASE("a cache forgets all values when it is full") {
  MemoCache<int, int, 2> cache;
  for (const int key : {1, 2, 3}) cache.get(key, [&] { return 10 * key; });
  CHECK_FALSE(cache.has(1));
  CHECK_FALSE(cache.has(2));
  CHECK(cache.get(3, [] { return 0; }) == 30);
}

TEST_CASE("a cache stores nothing when the computation throws") {
  MemoCache<int, int> cache;
  const auto fail = []() -> int { throw std::runtime_error("no value"); };
  CHECK_THROWS_WITH(cache.get(1, fail), "no value");
  CHECK_FALSE(cache.has(1));
  CHECK(cache.get(1, [] { return 5; }) == 5);
}

}  // namespace
}  // namespace deepbench::plugin
