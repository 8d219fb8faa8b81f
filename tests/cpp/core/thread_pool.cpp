// Tests the thread pool: waiting for helpers, nested and concurrent calls, and use after a fork.
#include "deepbench/core/thread_pool.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "../forked_process.hpp"

namespace deepbench {
namespace {

using Threads = std::set<std::thread::id>;

// The threads take numbers until none is left; returns the threads that took any.
Threads share_numbers(int64_t max_helpers, int numbers) {
  std::atomic<int> left{numbers};
  std::mutex mutex;
  Threads who;
  const auto body = [&] {
    while (left-- > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::lock_guard<std::mutex> lock(mutex);
      who.insert(std::this_thread::get_id());
    }
  };
  ThreadPool::instance().run(max_helpers, body, body);
  return who;
}

// Waits ten seconds at most, which suffice even on a busy machine.
bool becomes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

bool helper_joins_in_time() {
  return becomes_true([] { return share_numbers(2, 50).size() > 1; });
}

TEST_CASE("at most the requested number of threads help, and they are reused") {
  CHECK(share_numbers(0, 10) == Threads{std::this_thread::get_id()});
  CHECK(helper_joins_in_time());
  Threads seen;
  for (int round = 0; round < 50; ++round) {
    const Threads who = share_numbers(3, 40);
    CHECK(who.size() <= 4);
    seen.insert(who.begin(), who.end());
  }
  CHECK(seen.size() <= 17);  // rounds reuse threads; other tests request at most fifteen
}

TEST_CASE("run() waits for helpers that have started") {
  std::atomic<int> begun{0}, ended{0};
  const auto help = [&] {
    ++begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ++ended;
  };
  // A helper that wakes too late for one round joins a later one.
  CHECK(becomes_true([&] {
    ThreadPool::instance().run(2, help,
                               [] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });
    CHECK(ended == begun);
    return begun > 0;
  }));
}

TEST_CASE("a helper that has not started when the caller finishes does not start") {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> begun{0}, ended{0};
    ThreadPool::instance().run(
        3, [&] { ++begun, ++ended; }, [] {});
    const int after = begun;
    CHECK(ended == after);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    CHECK(begun == after);
  }
}

TEST_CASE("nested and concurrent calls run on the calling thread") {
  int inner = 0;
  std::atomic<bool> helped{false};
  ThreadPool::instance().run(
      1, [] {},
      [&] {
        for (int call = 0; call < 2; ++call)
          ThreadPool::instance().run(
              3, [&] { helped = true; }, [&] { ++inner; });
      });
  CHECK(inner == 2);
  CHECK_FALSE(helped);
  Threads other;
  std::thread beside([&] { other = share_numbers(3, 50); });
  share_numbers(3, 50);
  beside.join();
  CHECK(other.count(std::this_thread::get_id()) == 0);
}

TEST_CASE("a forked process starts new threads") {
  CHECK(helper_joins_in_time());
  testing::ForkedProcess child([] { return helper_joins_in_time() ? 0 : 1; });
  CHECK(child.end() == 0);
}

}  // namespace
}  // namespace deepbench
