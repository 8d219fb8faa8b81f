// Worker threads, one bound to each core, that move memory and fill and check operands. They sleep
// between jobs, so that a library's threads have the cores to themselves.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
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

class WorkerPool {
 public:
  // Starts one thread or more. Throws std::system_error if the system has no more threads.
  explicit WorkerPool(const std::vector<int>& cpus);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  size_t size() const { return threads_.size(); }

  // Calls job(worker) once on every worker, waits for all, and rethrows the first exception.
  void run(const std::function<void(size_t worker)>& job);

  // Splits [0, count) into one contiguous part for each worker; all parts but the last are
  // multiples of `grain`. A count of at most one grain runs on the calling thread, as worker 0.
  using Part = std::function<void(uint64_t begin, uint64_t end, size_t worker)>;
  void parallel_for(uint64_t count, uint64_t grain, const Part& part);

 private:
  void run_jobs_until_stopped(size_t worker, int cpu);
  void stop();  // stops all threads

  std::vector<std::thread> threads_;
  std::mutex busy_;  // held by the caller whose job runs
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(size_t)>* job_ = nullptr;
  uint64_t generation_ = 0;
  size_t left_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

// The begin of part `worker` of `workers` of [0, count), in multiples of grain. A part ends where
// the next one begins.
uint64_t part_begin(uint64_t count, uint64_t grain, size_t worker, size_t workers);

// The workers that prepare and check operands, one on each usable core; made on first use.
WorkerPool& host_workers();

}  // namespace deepbench::cpu
