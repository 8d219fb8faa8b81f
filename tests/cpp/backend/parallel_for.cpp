// Work that several threads share.
#include "deepbench/backend/parallel_for.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace deepbench::plugin {
namespace {

TEST_CASE("parallel_for: each task runs once, on workers with distinct numbers") {
  for (const size_t tasks : {size_t{0}, size_t{1}, size_t{3}, size_t{1000}}) {
    CAPTURE(tasks);
    std::vector<std::atomic<int>> done(tasks);
    // Counts the threads that use each worker number, which must never exceed one.
    std::array<std::atomic<int>, 8> busy{};
    std::atomic<int> clashes{0};
    parallel_for(tasks, [&](size_t task, size_t worker) {
      if (worker >= busy.size() || busy[worker]++ != 0) ++clashes;
      std::this_thread::yield();
      ++done[task];
      if (worker < busy.size()) --busy[worker];
    });
    CHECK(clashes == 0);
    for (const std::atomic<int>& times : done) CHECK(times == 1);
  }
}

TEST_CASE("parallel_for: the caller is worker 0") {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> others{0};
  parallel_for(64, [&](size_t, size_t worker) {
    if ((worker == 0) != (std::this_thread::get_id() == caller)) ++others;
  });
  CHECK(others == 0);
}

// Each task waits until both have started; a single thread would time out.
TEST_CASE("parallel_for: tasks run concurrently on several processors") {
  if (std::thread::hardware_concurrency() < 2) return;
  std::atomic<int> arrived{0}, saw_both{0};
  parallel_for(2, [&](size_t, size_t) {
    ++arrived;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (arrived < 2 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    if (arrived == 2) ++saw_both;
  });
  CHECK(saw_both == 2);
}

}  // namespace
}  // namespace deepbench::plugin
