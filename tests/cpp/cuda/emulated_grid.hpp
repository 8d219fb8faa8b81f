// Blocks that wait for one another, emulated on the host: the threads of all blocks run in turns,
// each until it waits for others. A source file includes emulated.hpp first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "emulated.hpp"

namespace deepbench::cuda_test {

// Threads that synchronize with one another: those of a warp, of a block or of all blocks.
struct ThreadGroup {
  uint32_t size = 0, arrived = 0;
  uint64_t round = 0;
};

class Grid {
 public:
  void run(uint32_t blocks, uint32_t threads, const std::function<void()>& body) {
    body_ = &body;
    fibers_.assign(size_t(blocks) * threads, {});
    all_ = {uint32_t(fibers_.size())};
    blocks_.assign(blocks, {threads});
    warps_.assign(fibers_.size() / 32, {32});
    threads_ = threads;
    block_size = {threads, 1, 1};
    grid_size = {blocks, 1, 1};
    for (Fiber& fiber : fibers_) fiber.begin(&Grid::run_thread_body, &scheduler_);
    while (run_threads_to_barriers()) continue;
  }

  void yield() { swapcontext(&fibers_[current_].context, &scheduler_); }
  void barrier_of_all() { wait_at_barrier(all_); }
  void block_barrier() { wait_at_barrier(blocks_[current_ / threads_]); }
  void warp_barrier() { wait_at_barrier(warps_[current_ / 32]); }
  size_t thread() const { return current_; }  // among those of all blocks
  uint32_t lane() const { return uint32_t(current_ % 32); }

 private:
  static void run_thread_body();
  void wait_at_barrier(ThreadGroup& group) {
    const uint64_t round = group.round;
    if (++group.arrived == group.size) {
      group.arrived = 0, ++group.round;
      return;
    }
    while (group.round == round) yield();
  }
  // Returns false when all threads have ended.
  bool run_threads_to_barriers() {
    bool more = false;
    for (current_ = 0; current_ < fibers_.size(); ++current_) {
      if (fibers_[current_].done) continue;
      thread_index = {uint32_t(current_ % threads_), 0, 0};
      block_index = {uint32_t(current_ / threads_), 0, 0};
      swapcontext(&scheduler_, &fibers_[current_].context);
      more = more || !fibers_[current_].done;
    }
    return more;
  }

  const std::function<void()>* body_ = nullptr;
  std::vector<Fiber> fibers_;
  ThreadGroup all_;
  std::vector<ThreadGroup> blocks_, warps_;
  size_t threads_ = 0, current_ = 0;
  ucontext_t scheduler_ = {};
};

inline Grid grid;

inline void Grid::run_thread_body() {
  (*grid.body_)();
  grid.fibers_[grid.current_].done = true;
}

}  // namespace deepbench::cuda_test

// What blocks exchange words by and limit their waiting with, in place of the kernels' header.
#define DEEPBENCH_CUDA_KERNELS_INTER_BLOCK_MAILBOX_H_

inline uint64_t host_now_ns() {
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1));
}
inline uint4 load_mailbox(const uint64_t* from) {
  deepbench::cuda_test::grid.yield();  // a thread that polls lets other threads run
  return {uint32_t(from[0]), uint32_t(from[0] >> 32), uint32_t(from[1]), uint32_t(from[1] >> 32)};
}
inline void store_mailbox(uint64_t* to, uint32_t elements, uint32_t step) {
  *to = uint64_t(step) << 32 | elements;
}
