// CUDA emulated on the host, as far as the built-in kernels need it: blocks run one after the
// other, and the threads of a block in turns, each until its next barrier. The emulation detects
// wrong indices and sums without a device, but not races within a warp. A source file must include
// this header first and then one .cu file.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "kernels/jit.hpp"

namespace deepbench::cuda_test {

struct ThreadIndex {
  uint32_t x = 1, y = 1, z = 1;
};

struct Uint2 {
  uint32_t x, y;
};

struct Uint4 {
  uint32_t x, y, z, w;
};

inline ThreadIndex thread_index, block_index, block_size, grid_size;

// Without barriers, threads simply run one after the other.
enum class Barriers { kUsed, kNone };

// A thread with a separate stack. When it ends, execution continues at `back`.
class Fiber {
 public:
  void begin(void (*body)(), ucontext_t* back) {
    stack_.resize(kStackBytes);
    getcontext(&context);
    context.uc_stack.ss_sp = stack_.data();
    context.uc_stack.ss_size = stack_.size();
    context.uc_link = back;
    makecontext(&context, body, 0);
    done = false;
  }
  ucontext_t context = {};
  bool done = false;

 private:
  static constexpr size_t kStackBytes = 1 << 15;
  std::vector<char> stack_;
};

class Block {
 public:
  static Block& instance() {
    static Block block;
    return block;
  }

  void run(uint32_t threads, Barriers barriers, const std::function<void()>& body) {
    if (barriers == Barriers::kNone) {
      for (current_ = 0; current_ < threads; ++current_) {
        thread_index = index_of(current_);
        body();
      }
      return;
    }
    body_ = &body;
    fibers_.resize(threads);
    for (Fiber& fiber : fibers_) fiber.begin(&Block::run_thread_body, &scheduler_);
    while (run_threads_to_barriers()) continue;
  }

  void barrier() { swapcontext(&fibers_[current_].context, &scheduler_); }
  uint32_t thread() const { return current_; }
  uint32_t slots[1024] = {};

 private:
  static ThreadIndex index_of(uint32_t thread) {
    return {thread % block_size.x, thread / block_size.x, 0};
  }
  static void run_thread_body() {
    Block& block = instance();
    (*block.body_)();
    block.fibers_[block.current_].done = true;
  }

  // Runs every thread until its next barrier. Returns false when all threads have ended.
  bool run_threads_to_barriers() {
    size_t done = 0;
    for (current_ = 0; current_ < fibers_.size(); ++current_) {
      if (fibers_[current_].done)
        throw std::logic_error("a thread waits at a barrier for a thread that has ended");
      thread_index = index_of(current_);
      swapcontext(&scheduler_, &fibers_[current_].context);
      done += fibers_[current_].done;
    }
    if (done != 0 && done != fibers_.size())
      throw std::logic_error("not all threads of a block reached a barrier");
    return done == 0;
  }

  const std::function<void()>* body_ = nullptr;
  std::vector<Fiber> fibers_;
  uint32_t current_ = 0;
  ucontext_t scheduler_ = {};
};

// `kernel` calls a kernel function with its arguments.
inline void emulate(const cuda::LaunchShape& shape, Barriers barriers,
                    const std::function<void()>& kernel) {
  block_size = {shape.block_x, shape.block_y, shape.block_z};
  grid_size = {shape.grid_x, shape.grid_y, shape.grid_z};
  for (uint32_t y = 0; y < shape.grid_y; ++y)
    for (uint32_t x = 0; x < shape.grid_x; ++x) {
      block_index = {x, y, 0};
      Block::instance().run(shape.block_x * shape.block_y, barriers, kernel);
    }
}

inline uint32_t byte_perm(uint32_t low, uint32_t high, uint32_t selector) {
  const uint64_t bytes = (uint64_t{high} << 32) | low;
  uint32_t word = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t which = (selector >> (4 * i)) & 7;
    word |= uint32_t((bytes >> (8 * which)) & 0xff) << (8 * i);
  }
  return word;
}

inline uint32_t shuffle_xor(uint32_t value, uint32_t lane_mask) {
  Block& block = Block::instance();
  block.slots[block.thread()] = value;
  block.barrier();
  const uint32_t other = block.slots[block.thread() ^ lane_mask];
  block.barrier();
  return other;
}

// A plain access suffices, because only one thread runs at a time.
inline uint32_t atomic_exchange(uint32_t* address, uint32_t value) {
  const uint32_t before = *address;
  *address = value;
  return before;
}
inline uint32_t atomic_add(uint32_t* address, uint32_t value) {
  return atomic_exchange(address, *address + value);
}
inline uint32_t atomic_increment(uint32_t* address, uint32_t last) {
  return atomic_exchange(address, *address >= last ? 0 : *address + 1);
}

}  // namespace deepbench::cuda_test

// CUDA's keywords and built-in functions for the rest of the source file.
#define __global__
#define __device__ __attribute__((unused))
#define __shared__ static
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define threadIdx ::deepbench::cuda_test::thread_index
#define blockIdx ::deepbench::cuda_test::block_index
#define blockDim ::deepbench::cuda_test::block_size
#define gridDim ::deepbench::cuda_test::grid_size
#define uint2 ::deepbench::cuda_test::Uint2
#define uint4 ::deepbench::cuda_test::Uint4
#define __syncthreads() ::deepbench::cuda_test::Block::instance().barrier()
#define __byte_perm(low, high, selector) ::deepbench::cuda_test::byte_perm(low, high, selector)
#define __shfl_xor_sync(mask, value, lane_mask) \
  ::deepbench::cuda_test::shuffle_xor(value, lane_mask)
#define __ldcg(pointer) (*(pointer))
#define __threadfence() static_cast<void>(0)
#define atomicAdd(at, value) ::deepbench::cuda_test::atomic_add(at, value)
#define atomicExch(at, value) ::deepbench::cuda_test::atomic_exchange(at, value)
#define atomicInc(at, last) ::deepbench::cuda_test::atomic_increment(at, last)
