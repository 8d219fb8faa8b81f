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

  // Calls own() here and helping() on up to `most` other threads, and returns when all that have
  // begun are done: who has not begun when own() ends does not begin any more. Neither may throw.
  // A call within a call, or beside one, has no helpers.
  void run(int64_t most, const std::function<void()>& helping, const std::function<void()>& own);

 private:
  ThreadPool();
  void help();
  // Each under the mutex.
  void begin(int64_t most, const std::function<void()>& helping);
  void end(std::unique_lock<std::mutex>& lock);
  void start_threads(int64_t count);
  bool is_wanted(uint64_t seen) const { return helping_ && round_ != seen && begun_ < wanted_; }

  const int process_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void()>* helping_ = nullptr;  // while there is something to help with
  uint64_t round_ = 0;
  int64_t threads_ = 0, wanted_ = 0, begun_ = 0, running_ = 0;
  bool in_use_ = false;
};

}  // namespace deepbench
