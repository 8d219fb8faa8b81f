// Wakes the helper threads, and does not wait for those that have not started.
#include "deepbench/core/thread_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "deepbench/core/stopwatch.hpp"

namespace deepbench {
namespace {

// The time for which a helper watches for the next round: the rounds of a reference follow one
// another faster than a sleeping thread wakes.
constexpr double kWatchNs = 50e3;

}  // namespace

ThreadPool::ThreadPool() : process_(int(getpid())) {}

// The pool is never deleted, because its threads may outlive objects that the process destroys at
// exit. A forked process has none of its parent's threads and creates a new pool.
ThreadPool& ThreadPool::instance() {
  static std::mutex mutex;
  static ThreadPool* pool = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!pool || pool->process_ != int(getpid())) pool = new ThreadPool();
  return *pool;
}

void ThreadPool::run(int64_t max_helpers, const std::function<void()>& helper_work,
                     const std::function<void()>& caller_work) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool helped = max_helpers > 0 && !in_use_;
  if (helped) begin_round(max_helpers, helper_work);
  const int64_t requested = helped ? requested_ : 0;
  lock.unlock();
  for (int64_t i = 0; i < requested; ++i) wake_.notify_one();  // any sleeping thread will do
  caller_work();
  if (!helped) return;
  lock.lock();
  end_round(lock);
}

void ThreadPool::begin_round(int64_t max_helpers, const std::function<void()>& helper_work) {
  in_use_ = true;
  start_threads(max_helpers);
  helper_work_ = &helper_work;
  requested_ = std::min(max_helpers, threads_), joined_ = 0;
  ++round_;
}

void ThreadPool::end_round(std::unique_lock<std::mutex>& lock) {
  helper_work_ = nullptr;
  done_.wait(lock, [this] { return running_ == 0; });
  in_use_ = false;
}

void ThreadPool::start_threads(int64_t count) {
  try {
    for (; threads_ < count; ++threads_) std::thread([this] { helper_loop(); }).detach();
  } catch (const std::exception&) {
    // If the system refuses another thread (or memory for it), fewer threads do the same work.
  }
}

void ThreadPool::helper_loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (uint64_t seen = 0;;) {
    wake_.wait(lock, [&] { return helper_may_join(seen); });
    seen = round_;
    ++joined_, ++running_;
    const std::function<void()>& helper_work = *helper_work_;
    lock.unlock();
    helper_work();
    lock.lock();
    if (--running_ == 0) done_.notify_one();
    lock.unlock();
    watch_for_round(seen);
    lock.lock();
  }
}

// Returns when another round begins, or after a while without one.
void ThreadPool::watch_for_round(uint64_t seen) const {
  Stopwatch watch;
  for (double waited_ns = 0; waited_ns < kWatchNs; waited_ns += watch.lap_ns()) {
    if (round_.load(std::memory_order_relaxed) != seen) return;
    std::this_thread::yield();
  }
}

}  // namespace deepbench
