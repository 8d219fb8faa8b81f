// Runs the threads that compute references. They use the saved affinity mask, not the calling
// thread's current binding.
#include "deepbench/core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "deepbench/core/affinity.hpp"
#include "deepbench/core/thread_pool.hpp"

namespace deepbench {
namespace {

// Read when the library is loaded, and empty if the system reports no mask. It is never destroyed,
// because threads of the pool may live until the process ends.
std::vector<int>& allowed_processors = *new std::vector<int>(read_affinity());

}  // namespace

void parallel_update_affinity() { allowed_processors = read_affinity(); }

int parallel_threads() {
  const size_t allowed = allowed_processors.size();
  const size_t processors = allowed > 0 ? allowed : std::thread::hardware_concurrency();
  return int(std::clamp<size_t>(processors, 1, kMaxParallelThreads));
}

void parallel_tasks(int64_t count, int64_t max_threads, const std::function<void(int64_t)>& body) {
  const int64_t width = std::min({count, max_threads, int64_t{parallel_threads()}});
  std::atomic<int64_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      for (int64_t task = next++; task < count; task = next++) body(task);
    } catch (...) {
      next = count;  // drops all tasks that have not started
      const std::lock_guard<std::mutex> lock(mutex);
      if (!error) error = std::current_exception();
    }
  };
  ThreadPool::instance().run(
      width - 1,
      [&work] {
        set_affinity(allowed_processors);
        work();
      },
      work);
  if (error) std::rethrow_exception(error);
}

void parallel_for(int64_t count, int64_t min_part,
                  const std::function<void(int64_t, int64_t, int)>& body) {
  const int64_t max_parts = std::max<int64_t>(1, count / std::max<int64_t>(1, min_part));
  const int64_t parts = std::min<int64_t>(parallel_threads(), max_parts);
  parallel_tasks(parts, parts, [&](int64_t part) {
    body(count * part / parts, count * (part + 1) / parts, static_cast<int>(part));
  });
}

}  // namespace deepbench
