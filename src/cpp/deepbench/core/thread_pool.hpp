// Threads that help the calling one and sleep in between: to start fifteen of them takes as long as
// many a reference that they are to help with.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "deepbench/core/export.hpp"

namespace deepbench {

class DEEPBENCH_API ThreadPool {
 public:
  // The process' own. Its threads live as long as it does.
  static ThreadPool& instance();

  // Calls caller_work() here and helper_work() on up to `max_helpers` other threads, and returns
  // when all that have begun are done: who has not begun when caller_work() ends does not begin any
  // more. Neither may throw. A call within a call, or beside one, has no helpers.
  void run(int64_t max_helpers, const std::function<void()>& helper_work,
           const std::function<void()>& caller_work);

 private:
  ThreadPool();
  void helper_loop();
  // Each under the mutex.
  void begin_round(int64_t max_helpers, const std::function<void()>& helper_work);
  void end_round(std::unique_lock<std::mutex>& lock);
  void start_threads(int64_t count);
  bool may_join(uint64_t seen) const {
    return helper_work_ && round_ != seen && joined_ < requested_;
  }

  const int process_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void()>* helper_work_ = nullptr;  // while there is something to help with
  uint64_t round_ = 0;
  int64_t threads_ = 0, requested_ = 0, joined_ = 0, running_ = 0;
  bool in_use_ = false;
};

}  // namespace deepbench
