// Threads for references. They use the saved affinity mask, not the calling thread's current
// binding.
#include "deepbench/core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

#include "deepbench/core/thread_pool.hpp"

#if defined(__linux__)
#include <sched.h>
#else
#include <thread>
#endif

namespace deepbench {
namespace {

#if defined(__linux__)
class Affinity {
 public:
  Affinity() { valid_ = sched_getaffinity(0, sizeof mask_, &mask_) == 0; }
  int cpu_count() const { return valid_ ? CPU_COUNT(&mask_) : 1; }
  void apply() const {
    if (valid_) sched_setaffinity(0, sizeof mask_, &mask_);
  }

 private:
  cpu_set_t mask_;
  bool valid_ = false;
};
#else
struct Affinity {
  int cpu_count() const { return static_cast<int>(std::thread::hardware_concurrency()); }
  void apply() const {}
};
#endif

Affinity allowed_processors;

}  // namespace

void parallel_update_affinity() { allowed_processors = Affinity(); }

int parallel_threads() { return std::clamp(allowed_processors.cpu_count(), 1, 16); }

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
        allowed_processors.apply();
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
