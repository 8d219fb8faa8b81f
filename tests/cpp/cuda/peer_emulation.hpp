// What tests need to run kernels over peer memory on the host, with one thread for every block of
// every rank. Include it before a kernel's source.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "deepbench/fill.h"
#include "kernels/peer_control.h"

// CUDA as far as these kernels need it: blocks have one thread.
namespace deepbench::cuda_test::peer_model {

struct ThreadIndex {
  uint32_t x = 1;
};
struct EmulatedUint2 {
  uint32_t x, y;
};
struct alignas(16) EmulatedUint4 {
  uint32_t x, y, z, w;
};
inline thread_local ThreadIndex thread_index{0}, block_index{0}, block_size{1}, grid_size{1};

inline std::atomic<uint64_t> clock_readings{0};

inline uint64_t host_now_ns() {
  ++clock_readings;
  // Sleeps, because yield() is not enough on a busy machine.
  std::this_thread::sleep_for(std::chrono::microseconds(10));
  return uint64_t(std::chrono::steady_clock::now().time_since_epoch() /
                  std::chrono::nanoseconds(1));
}

}  // namespace deepbench::cuda_test::peer_model

#define __global__
#define __device__ __attribute__((unused))
#define __grid_constant__
#define __launch_bounds__(...)
#define threadIdx ::deepbench::cuda_test::peer_model::thread_index
#define blockIdx ::deepbench::cuda_test::peer_model::block_index
#define blockDim ::deepbench::cuda_test::peer_model::block_size
#define gridDim ::deepbench::cuda_test::peer_model::grid_size
#define uint2 ::deepbench::cuda_test::peer_model::EmulatedUint2
#define uint4 ::deepbench::cuda_test::peer_model::EmulatedUint4
#define host_now_ns ::deepbench::cuda_test::peer_model::host_now_ns
#define __syncthreads() static_cast<void>(0)
#define __syncthreads_or(any) (any)

// The build copies the kernels' sources to an include folder.
#include <peer_primitives.h>

namespace deepbench::cuda_test::peer_model {

constexpr uint32_t kGuard = 0xdeadbeef;

// An operand in vectors, with guards after its bytes.
class GuardedOperand {
 public:
  explicit GuardedOperand(uint64_t bytes) : bytes_(bytes), vectors_(bytes / 16 + 3) {
    for (auto& v : vectors_) v = {kGuard, kGuard, kGuard, kGuard};
  }
  uint4* vectors() { return vectors_.data(); }
  template <class Number>
  Number* as() {
    return reinterpret_cast<Number*>(vectors_.data());
  }
  bool is_guarded() {
    for (uint64_t i = (bytes_ + 1) / 2 * 2; i < vectors_.size() * 16; i += 2)
      if (as<uint16_t>()[i / 2] != uint16_t(i % 4 == 0 ? kGuard : kGuard >> 16)) return false;
    return true;
  }

 private:
  uint64_t bytes_;
  std::vector<uint4> vectors_;
};

// How a type of the kernels is stored.
template <class T>
struct Numbers;
template <>
struct Numbers<Float> {
  using Stored = float;
  static constexpr deepbench_type type = DEEPBENCH_F32;
  static float stored(float value) { return value; }
  static float value(float stored) { return stored; }
};
template <>
struct Numbers<Half> {
  using Stored = uint16_t;
  static constexpr deepbench_type type = DEEPBENCH_F16;
  static uint16_t stored(float value) { return deepbench_to_half(value); }
  static float value(uint16_t stored) { return deepbench_from_half(stored); }
};
template <>
struct Numbers<Bfloat16> {
  using Stored = uint16_t;
  static constexpr deepbench_type type = DEEPBENCH_BF16;
  static uint16_t stored(float value) { return uint16_t(deepbench_float_bits(value) >> 16); }
  static float value(uint16_t stored) { return deepbench_from_bfloat16(stored); }
};

// Runs a kernel's blocks at the same time.
inline void run_grid(uint32_t blocks, const std::function<void()>& kernel) {
  std::vector<std::thread> threads;
  for (uint32_t block = 0; block < blocks; ++block)
    threads.emplace_back([=] {
      blockIdx.x = block, gridDim.x = blocks;
      kernel();
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace deepbench::cuda_test::peer_model
