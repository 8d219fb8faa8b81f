// Tests what a cache of answers remembers.
#include "deepbench/backend/memo_cache.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

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

TEST_CASE("threads that ask at the same time get the value that one of them computes") {
  MemoCache<int, int> cache;
  int computed = 0;
  std::vector<int> got(3);
  std::vector<std::thread> threads;
  for (int& value : got)
    threads.emplace_back([&] { value = cache.get(1, [&] { return ++computed; }); });
  for (std::thread& thread : threads) thread.join();
  CHECK(got == std::vector<int>{1, 1, 1});
}

TEST_CASE("a cache stores nothing when the computation throws") {
  MemoCache<int, int> cache;
  const auto fail = []() -> int { throw std::runtime_error("no value"); };
  CHECK_THROWS_WITH(cache.get(1, fail), "no value");
  CHECK(cache.get(1, [] { return 5; }) == 5);
}

}  // namespace
}  // namespace deepbench::plugin
