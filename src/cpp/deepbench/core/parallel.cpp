// Threads for references, free of whatever binding the calling thread has got since.
#include "deepbench/core/parallel.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace deepbench {
namespace {

#if defined(__linux__)
class Affinity {
 public:
  Affinity() { valid_ = sched_getaffinity(0, sizeof mask_, &mask_) == 0; }
  int width() const { return valid_ ? CPU_COUNT(&mask_) : 1; }
  void apply() const {
    if (valid_) sched_setaffinity(0, sizeof mask_, &mask_);
  }

 private:
  cpu_set_t mask_;
  bool valid_ = false;
};
#else
struct Affinity {
  int width() const { return static_cast<int>(std::thread::hardware_concurrency()); }
  void apply() const {}
};
#endif

const Affinity at_load;

}  // namespace

int parallel_width() { return std::clamp(at_load.width(), 1, 16); }

void parallel_for(int64_t count, int64_t smallest_part,
                  const std::function<void(int64_t, int64_t, int)>& body) {
  const int64_t most = std::max<int64_t>(1, count / std::max<int64_t>(1, smallest_part));
  const int parts = static_cast<int>(std::min<int64_t>(parallel_width(), most));
  if (parts == 1) return body(0, count, 0);

  std::vector<std::exception_ptr> errors(static_cast<size_t>(parts));
  std::vector<std::thread> threads;
  for (int part = 0; part < parts; ++part) {
    threads.emplace_back([&, part] {
      at_load.apply();
      try {
        body(count * part / parts, count * (part + 1) / parts, part);
      } catch (...) {
        errors[static_cast<size_t>(part)] = std::current_exception();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace deepbench
