// Threads that process one call after another, as an OpenMP team does. Each is bound to a core, the
// calling thread is one of them, and they wait actively between calls. Workers (worker_pool.hpp)
// sleep between jobs, which would add a noticeable share to the time of calls that take some
// hundred microseconds.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "worker_pool.hpp"

namespace deepbench::cpu {

class ThreadTeam {
 public:
  // `cpus` has at least one element. Throws std::runtime_error if the system cannot start
  // the threads.
  explicit ThreadTeam(const std::vector<int>& cpus);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  size_t size() const { return cpus_.size(); }

  // Binds the calling thread to the first of the cores. It costs a system call.
  void bind_caller() const;
  // Calls job(member) once on every member, with 0 on the calling thread, and waits for all
  // members. Jobs must not throw.
  void run(const std::function<void(size_t member)>& job);
  // Synchronizes all members within a job.
  void barrier() { barrier_.wait(); }

 private:
  void run_jobs_until_stopped(size_t member);
  void stop();  // Ends all threads.
  void wait_for_job(uint32_t seen);

  const std::vector<int> cpus_;
  Barrier barrier_;
  std::atomic<uint32_t> generation_{0}, sleepers_{0};
  const std::function<void(size_t)>* job_ = nullptr;  // nullptr ends the threads.
  OwnedSleepers members_;                             // without the calling thread
};

}  // namespace deepbench::cpu
