// Waking threads, and not waiting for those that came too late.
#include "deepbench/core/thread_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <thread>

namespace deepbench {

ThreadPool::ThreadPool() : process_(int(getpid())) {}

// Never deleted: its threads may outlive whatever a process destroys at its end. A process that was
// forked has none of its parent's threads.
ThreadPool& ThreadPool::instance() {
  static std::mutex mutex;
  static ThreadPool* pool = nullptr;
  const std::lock_guard<std::mutex> lock(mutex);
  if (!pool || pool->process_ != int(getpid())) pool = new ThreadPool();
  return *pool;
}

void ThreadPool::run(int64_t most, const std::function<void()>& helping,
                     const std::function<void()>& own) {
  std::unique_lock<std::mutex> lock(mutex_);
  const bool helped = most > 0 && !in_use_;
  if (helped) begin(most, helping);
  const int64_t wanted = helped ? wanted_ : 0;
  lock.unlock();
  for (int64_t i = 0; i < wanted; ++i) wake_.notify_one();  // all who sleep are alike
  own();
  if (!helped) return;
  lock.lock();
  end(lock);
}

void ThreadPool::begin(int64_t most, const std::function<void()>& helping) {
  in_use_ = true;
  start_threads(most);
  helping_ = &helping;
  wanted_ = std::min(most, threads_), begun_ = 0;
  ++round_;
}

void ThreadPool::end(std::unique_lock<std::mutex>& lock) {
  helping_ = nullptr;
  done_.wait(lock, [this] { return running_ == 0; });
  in_use_ = false;
}

void ThreadPool::start_threads(int64_t count) {
  try {
    for (; threads_ < count; ++threads_) std::thread([this] { help(); }).detach();
  } catch (const std::exception&) {
    // The system gives no more threads (or memory for them): fewer do the same.
  }
}

void ThreadPool::help() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (uint64_t seen = 0;;) {
    wake_.wait(lock, [&] { return is_wanted(seen); });
    seen = round_;
    ++begun_, ++running_;
    const std::function<void()>& helping = *helping_;
    lock.unlock();
    helping();
    lock.lock();
    if (--running_ == 0) done_.notify_one();
  }
}

}  // namespace deepbench
