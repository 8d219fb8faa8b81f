// Implements the pool of bound threads.
#include "worker_pool.hpp"

#include <algorithm>
#include <utility>

#include "affinity.hpp"
#include "deepbench/core/start_thread.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

void Barrier::wait() {
  constexpr int kSpins = 1 << 14;  // after more spins, another thread may need the core more
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    return;
  }
  for (int spins = 0; generation_.load(std::memory_order_acquire) == generation; ++spins) {
    if (spins < kSpins)
      pause_while_spinning();
    else
      std::this_thread::yield();
  }
}

WorkerPool::WorkerPool(const std::vector<int>& cpus) {
  sleepers_->threads.reserve(cpus.size());
  try {
    for (size_t worker = 0; worker < cpus.size(); ++worker)
      sleepers_->threads.push_back(start_thread(
          "a thread of the CPU backend",
          [this, worker, cpu = cpus[worker]] { run_jobs_until_stopped(worker, cpu); }));
  } catch (...) {
    stop();
    throw;
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  if (!sleepers_.is_of_this_process()) return;
  {
    const std::lock_guard lock(sleepers_->mutex);
    stopping_ = true;
  }
  sleepers_->wake.notify_all();
  for (std::thread& thread : sleepers_->threads) thread.join();
}

void WorkerPool::run_jobs_until_stopped(size_t worker, int cpu) {
  bind_this_thread(cpu);
  uint64_t seen = 0;
  std::unique_lock lock(sleepers_->mutex);
  for (;;) {
    sleepers_->wake.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    const auto& job = *job_;
    lock.unlock();
    std::exception_ptr error;
    try {
      job(worker);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (--left_ == 0) done_.notify_one();
  }
}

void WorkerPool::run(const std::function<void(size_t)>& job) {
  const std::lock_guard only(busy_);
  std::unique_lock lock(sleepers_->mutex);
  job_ = &job;
  error_ = nullptr;
  left_ = size();
  ++generation_;
  sleepers_->wake.notify_all();
  done_.wait(lock, [&] { return left_ == 0; });
  job_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

uint64_t part_begin(uint64_t count, uint64_t grain, size_t worker, size_t workers) {
  const uint64_t grains = (count + grain - 1) / grain;
  const uint64_t whole = grains / workers, rest = grains % workers;
  return std::min(count, (whole * worker + std::min<uint64_t>(worker, rest)) * grain);
}

void WorkerPool::parallel_for(uint64_t count, uint64_t grain, const Part& part) {
  if (count <= grain) {
    if (count > 0) part(0, count, 0);
    return;
  }
  run([&](size_t worker) {
    const uint64_t begin = part_begin(count, grain, worker, size());
    const uint64_t end = part_begin(count, grain, worker + 1, size());
    if (begin < end) part(begin, end, worker);
  });
}

WorkerPool& host_workers() {
  // Never destroyed, because at exit the system may have ended the threads before.
  static WorkerPool* workers =
      new WorkerPool(topology().cpus_for_threads(topology().default_threads()));
  return *workers;
}

}  // namespace deepbench::cpu
