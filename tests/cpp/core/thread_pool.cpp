// Threads that help: all that began are waited for, nobody else; within, beside and after a fork.
#include "deepbench/core/thread_pool.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

namespace deepbench {
namespace {

// Takes numbers until there are none left, and notes who took some.
struct Work {
  std::atomic<int> left{0};
  std::mutex mutex;
  std::set<std::thread::id> who;
  std::function<void()> body = [this] {
    while (left-- > 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      const std::lock_guard<std::mutex> lock(mutex);
      who.insert(std::this_thread::get_id());
    }
  };
};

// What `most` helpers and the caller do together; who did it.
std::set<std::thread::id> share(int64_t most, int numbers) {
  Work work;
  work.left = numbers;
  ThreadPool::instance().run(most, work.body, work.body);
  CHECK(work.left <= 0);
  return work.who;
}

TEST_CASE("threads help, at most as many as are asked for, the same again and again") {
  const std::set<std::thread::id> alone = share(0, 10);
  CHECK(alone == std::set{std::this_thread::get_id()});
  std::set<std::thread::id> seen;
  for (int round = 0; round < 20; ++round) {
    const std::set<std::thread::id> who = share(3, 100);
    CHECK(who.size() <= 4);
    seen.insert(who.begin(), who.end());
  }
  CHECK(seen.size() > 1);
}

TEST_CASE("who has begun is waited for, who has not is not waited for") {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> inside{0};
    ThreadPool::instance().run(
        3,
        [&inside] {
          ++inside;
          std::this_thread::sleep_for(std::chrono::microseconds(100));
          --inside;
        },
        [] {});
    CHECK(inside == 0);
  }
}

TEST_CASE("a call within a call, and one beside it, are done by who makes them") {
  std::atomic<int> inner{0};
  const auto nested = [&inner] {
    const auto count = [&inner] { ++inner; };
    ThreadPool::instance().run(3, count, count);
  };
  ThreadPool::instance().run(
      0, [] {}, nested);  // not in use: it may have helpers
  CHECK(inner >= 1);
  inner = 0;
  ThreadPool::instance().run(
      1, [] {}, [&] { nested(), nested(); });
  CHECK(inner == 2);
  std::thread beside([] { CHECK(share(3, 50).size() >= 1); });
  share(3, 50);
  beside.join();
}

TEST_CASE("a process that was forked starts threads of its own") {
  share(2, 50);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(20);  // for threads that do not exist it would wait for ever
    share(2, 50);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

}  // namespace
}  // namespace deepbench
