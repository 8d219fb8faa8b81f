// Threads that help the calling thread and sleep between calls. Starting fifteen threads would take
// as long as many of the references that they speed up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>

#include "deepbench/core/export.hpp"

namespace deepbench {

class DEEPBENCH_API ThreadPool {
 public:
  // The pool of this process. Its threads live as long as the process.
  static ThreadPool& instance();

  // Calls caller_work() on this thread and helper_work() on up to `max_helpers` others, and returns
  // when all started helpers have finished. A helper that has not started when caller_work()
  // returns does not start. Neither function may throw. A nested or concurrent call gets no
  // helpers.
  void run(int64_t max_helpers, const std::function<void()>& helper_work,
           const std::function<void()>& caller_work);

 private:
  ThreadPool();
  void helper_loop();
  void watch_for_round(uint64_t seen) const;
  // The caller holds the mutex.
  void begin_round(int64_t max_helpers, const std::function<void()>& helper_work);
  void end_round(std::unique_lock<std::mutex>& lock);
  void start_threads(int64_t count);
  bool helper_may_join(uint64_t seen) const {
    return helper_work_ && round_ != seen && joined_ < requested_;
  }

  const int process_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void()>* helper_work_ = nullptr;  // null when no round is open
  std::atomic<uint64_t> round_{0};
  int64_t threads_ = 0, requested_ = 0, joined_ = 0, running_ = 0;
  bool in_use_ = false;
};

}  // namespace deepbench
