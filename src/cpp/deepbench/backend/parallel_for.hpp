// Distributes work of the host over threads, for libraries that permit it. Header-only, for
// backends.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace deepbench::plugin {

inline constexpr size_t kMaxParallelWorkers = 8;  // the ranks of a machine work at the same time

// Calls one(task, worker) for each of `tasks`, on at most kMaxParallelWorkers threads and at most
// one for each processor. Worker 0 is the calling thread. `one` must not throw.
inline void parallel_for(size_t tasks, const std::function<void(size_t task, size_t worker)>& one) {
  std::atomic<size_t> next{0};
  const auto work = [&](size_t worker) {
    for (size_t task = next++; task < tasks; task = next++) one(task, worker);
  };
  const size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const size_t workers = std::min({tasks, processors, kMaxParallelWorkers});
  std::vector<std::future<void>> others;
  try {
    for (size_t worker = 1; worker < workers; ++worker)
      others.push_back(std::async(std::launch::async, work, worker));
    // If the system has no more threads, the existing ones do the work.
  } catch (const std::system_error&) {
  }
  work(0);
}

}  // namespace deepbench::plugin
