// Threads of our own, one bound to each core: for moving memory, for filling and checking
// operands. They sleep between jobs, so that a library's threads have the cores to themselves.
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

// Within a loop that waits for another thread.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// All of `parties` threads meet, as often as they like. Spins, then yields.
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
  // At least one. Throws std::system_error where the system gives no more threads.
  explicit WorkerPool(const std::vector<int>& cpus);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  size_t size() const { return threads_.size(); }

  // Calls job(worker) once on every worker and waits for all; the first exception is rethrown.
  void run(const std::function<void(size_t worker)>& job);

  // Splits [0, count) into contiguous parts, one a worker, multiples of `grain` long but for the
  // last. A count of at most one grain runs on the calling thread, as worker 0.
  using Part = std::function<void(uint64_t begin, uint64_t end, size_t worker)>;
  void parallel_for(uint64_t count, uint64_t grain, const Part& part);

 private:
  void serve(size_t worker, int cpu);
  void stop();  // of all threads

  std::vector<std::thread> threads_;
  std::mutex busy_;  // one job at a time, whoever asks
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(size_t)>* job_ = nullptr;
  uint64_t generation_ = 0;
  size_t left_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

// Part `worker` of `workers` of [0, count) in multiples of grain: its begin; its end is the next
// part's begin.
uint64_t part_begin(uint64_t count, uint64_t grain, size_t worker, size_t workers);

// The workers that prepare and check operands, one on each usable core; made on first use.
WorkerPool& host_workers();

}  // namespace deepbench::cpu
