// Worker threads, one bound to each core, that move memory and fill and check operands. They sleep
// between jobs, so that a library's threads have the cores to themselves.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace deepbench::cpu {

// One pause in a loop that waits for another thread.
inline void pause_while_spinning() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Makes all of `parties` threads wait for each other, any number of times. Spins, then yields.
class Barrier {
 public:
  explicit Barrier(uint32_t parties) : parties_(parties) {}
  void wait();

 private:
  const uint32_t parties_;
  std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> generation_{0};
};

// The threads, and the objects at which they sleep. The system's functions to end threads and to
// destroy these objects wait for the threads, which a forked process does not have: there, the
// object is left as it is.
struct Sleepers {
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<std::thread> threads;
};

class OwnedSleepers {
 public:
  OwnedSleepers() : process_(getpid()), sleepers_(std::make_unique<Sleepers>()) {}
  ~OwnedSleepers() {
    if (!is_of_this_process()) (void)sleepers_.release();
  }
  OwnedSleepers(const OwnedSleepers&) = delete;
  OwnedSleepers& operator=(const OwnedSleepers&) = delete;

  bool is_of_this_process() const { return getpid() == process_; }
  Sleepers* operator->() { return sleepers_.get(); }
  const Sleepers* operator->() const { return sleepers_.get(); }

 private:
  const pid_t process_;
  std::unique_ptr<Sleepers> sleepers_;
};

class WorkerPool {
 public:
  // Starts one thread or more. Throws std::runtime_error if the system has no more threads.
  explicit WorkerPool(const std::vector<int>& cpus);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  size_t size() const { return sleepers_->threads.size(); }

  // Calls job(worker) once on every worker, waits for all, and rethrows the first exception.
  void run(const std::function<void(size_t worker)>& job);

  // Splits [0, count) into one contiguous part for each worker; all parts but the last are
  // multiples of `grain`. A count of at most one grain runs on the calling thread, as worker 0.
  using Part = std::function<void(uint64_t begin, uint64_t end, size_t worker)>;
  void parallel_for(uint64_t count, uint64_t grain, const Part& part);

 private:
  void run_jobs_until_stopped(size_t worker, int cpu);
  void stop();  // stops all threads

  OwnedSleepers sleepers_;
  std::mutex busy_;  // held by the caller whose job runs
  std::condition_variable done_;
  const std::function<void(size_t)>* job_ = nullptr;
  uint64_t generation_ = 0;
  size_t left_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

// The begin of part `worker` of `workers` of [0, count), in multiples of grain. A part ends where
// the next one begins.
uint64_t part_begin(uint64_t count, uint64_t grain, size_t worker, size_t workers);

// The workers that prepare and check operands, one on each usable core. They are created on first
// use.
WorkerPool& host_workers();

}  // namespace deepbench::cpu
