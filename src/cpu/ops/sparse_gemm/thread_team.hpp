// Threads that work on one call after the other, as an OpenMP team does: one bound to each core,
// the calling thread among them, waiting actively between calls. Workers (worker_pool.hpp) sleep
// between jobs, which would cost every call of some hundred microseconds a share of its time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "worker_pool.hpp"

namespace deepbench::cpu {

class ThreadTeam {
 public:
  // At least one. Throws std::system_error where the system gives no more threads.
  explicit ThreadTeam(const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  size_t size() const { return cpus_.size(); }

  // Binds the calling thread to the first of the cores; costs a system call.
  void bind_caller() const;
  // Calls job(member) once on every member, 0 on the calling thread, and waits for all. Jobs do not
  // throw.
  void run(const std::function<void(size_t member)>& job);
  // Within a job: all members meet.
  void barrier() { barrier_.wait(); }

 private:
  void serve(size_t member);
  void stop();  // of all threads
  void wait_for_job(uint32_t seen);

  const std::vector<int> cpus_;
  Barrier barrier_;
  std::atomic<uint32_t> generation_{0}, sleepers_{0};
  const std::function<void(size_t)>* job_ = nullptr;  // none: the end
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> threads_;
};

}  // namespace deepbench::cpu
