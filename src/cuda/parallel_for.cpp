// Threads that each take the next task.
#include "parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace deepbench::cuda {
namespace {

constexpr size_t kMaxThreads = 8;  // the ranks of a machine work at the same time

}  // namespace

void parallel_for(size_t tasks, const std::function<void(size_t task, size_t worker)>& one) {
  std::atomic<size_t> next{0};
  const auto work = [&](size_t worker) {
    for (size_t task = next++; task < tasks; task = next++) one(task, worker);
  };
  const size_t processors = std::max(1U, std::thread::hardware_concurrency());
  const size_t workers = std::min({tasks, processors, kMaxThreads});
  std::vector<std::future<void>> others;
  try {
    for (size_t worker = 1; worker < workers; ++worker)
      others.push_back(std::async(std::launch::async, work, worker));
    // the system has no more threads: the existing ones do the work
  } catch (const std::system_error&) {
  }
  work(0);
}

}  // namespace deepbench::cuda
