// The kernels of an exchange, run by the host without a device: every word in every scope, in
// further calls, and with the weights that are read in each step.
#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "deepbench/ops/memory/memory.hpp"

// Defines CUDA's keywords, so that the rest of the file is CUDA code.
#include "emulated.hpp"
#include "emulated_grid.hpp"

// Replaces the header of this name.
#define DEEPBENCH_CUDA_KERNELS_CLUSTER_H_

namespace deepbench::cuda_test {
namespace {

std::vector<std::vector<Uint4>> shared_memory;  // of each block
uint32_t threads_with_odd_words = 0;

unsigned char* shared_of(uint32_t block) {
  return reinterpret_cast<unsigned char*>(shared_memory[block].data());
}

}  // namespace
}  // namespace deepbench::cuda_test

inline void cluster_barrier() { deepbench::cuda_test::grid.barrier_of_all(); }
inline void store_to_block(uint32_t block, uint32_t* to, uint32_t word) {
  using namespace deepbench::cuda_test;
  const auto offset = reinterpret_cast<unsigned char*>(to) - shared_of(block_index.x);
  *reinterpret_cast<uint32_t*>(shared_of(block) + offset) = word;
}
inline int syncthreads_or(int value) {
  using namespace deepbench::cuda_test;
  threads_with_odd_words += value != 0;
  grid.block_barrier();
  return threads_with_odd_words != 0;
}

#undef __shared__
#undef __syncthreads
#define __shared__
#define __align__(bytes)
#define __grid_constant__
#define __cluster_dims__(...)
#define __syncthreads() ::deepbench::cuda_test::grid.block_barrier()
#define __syncthreads_or(value) ::syncthreads_or(value)
#define __trap() throw std::logic_error("a word did not arrive")

unsigned char shared[1];  // of the __global__ functions, which are not called

// The build copies the kernel source to an include folder.
#include <exchange.cu>

namespace deepbench::cuda_test {
namespace {

constexpr uint64_t kSeed = 8;
constexpr uint32_t kGuard = 0xdeadbeef;

class ExchangeCase {
 public:
  using Run = void (*)(const Exchange&, unsigned char*);

  explicit ExchangeCase(uint32_t words) {
    memory_.kind = MemoryKind::kExchange;
    memory_.bytes = 4 * int64_t(words);
    for (uint32_t i = 0; i < words; ++i) source_.push_back(memory_word(kSeed, i));
    mailbox_.resize(2 * exchange_pitch(words));
  }

  void set_weights(std::vector<Uint4> weights) { weights_ = std::move(weights); }

  // Returns the number of wrong words.
  uint64_t call(Run run, uint32_t blocks, uint32_t threads) {
    const auto words = uint32_t(memory_.words());
    destination_.assign(words + 1, kGuard);
    Exchange e = {};
    e.source = source_.data(), e.destination = destination_.data();
    e.words = words, e.shift = uint32_t(memory_.exchange_shift());
    e.steps = uint32_t(memory_.steps());
    e.mailbox = mailbox_.data(), e.steps_before = &steps_before_;
    e.weights = weights_.data(), e.weight_vectors = weights_.size();
    shared_memory.assign(blocks, std::vector<Uint4>(exchange_shared_bytes(words) / 16 + 1));
    threads_with_odd_words = 0;
    grid.run(blocks, threads, [&] { run(e, shared_of(block_index.x)); });
    uint64_t wrong = destination_[words] != kGuard;
    for (uint32_t i = 0; i < words; ++i)
      wrong += destination_[i] != memory_word(kSeed, memory_.source_of(i));
    return wrong;
  }
  uint32_t steps_before() const { return steps_before_; }

 private:
  Memory memory_;
  std::vector<uint32_t> source_, destination_;
  std::vector<uint64_t> mailbox_;
  std::vector<Uint4> weights_;
  uint32_t steps_before_ = 7;
};

TEST_CASE("kernels on the host: an exchange within a block hands every word on") {
  for (const uint32_t words : {1, 2, 3, 31, 64, 257}) {
    CAPTURE(words);
    CHECK(ExchangeCase(words).call(exchange::run_in_block, 1, 64) == 0);
  }
}

TEST_CASE("kernels on the host: an exchange within a cluster hands every word on") {
  for (const uint32_t words : {1, 7, 257, 600}) {
    CAPTURE(words);
    CHECK(ExchangeCase(words).call(exchange::run_in_cluster, EXCHANGE_CLUSTER_BLOCKS, 32) == 0);
  }
}

TEST_CASE("kernels on the host: an exchange over the grid hands every word on, in every call") {
  for (const uint32_t words : {1, 2, 5, 64, 257, 601})
    for (const uint32_t blocks : {1u, 2u, 5u}) {
      if (blocks > words) continue;  // every block publishes a word
      CAPTURE(words);
      CAPTURE(blocks);
      ExchangeCase problem(words);
      for (uint32_t call = 1; call <= 3; ++call) {
        CHECK(problem.call(exchange::run_over_grid, blocks, 32) == 0);
        CHECK(problem.steps_before() == 7 + 64 * call);
      }
    }
}

TEST_CASE("kernels on the host: an exchange over the grid reads all weights in each step") {
  for (const size_t vectors : {1, 31, 700, 1025}) {
    CAPTURE(vectors);
    const std::vector<Uint4> even(vectors, Uint4{2, 4, 6, 8});
    ExchangeCase problem(40);
    problem.set_weights(even);
    CHECK(problem.call(exchange::run_over_grid, 3, 32) == 0);
    for (const size_t odd : {size_t{0}, vectors / 2, vectors - 1}) {
      std::vector<Uint4> changed = even;
      changed[odd].z |= 1;
      problem.set_weights(changed);
      CHECK(problem.call(exchange::run_over_grid, 3, 32) > 0);
    }
  }
}

}  // namespace
}  // namespace deepbench::cuda_test
