// Consecutive steps without arithmetic: in each step the states are published, all threads wait for
// one another, and the states are read. There is one kernel for each scope: the threads of a block,
// of a cluster, or of all multiprocessors. As in a recurrent layer, every block receives all
// states.
#include "cached_loads.h"
#include "cluster.h"
#include "exchange.h"
#include "inter_block_mailbox.h"
#include "limited_wait.h"

namespace exchange {

__device__ inline uint32_t source_of(const Exchange& e, uint32_t index) {
  const uint32_t at = index + e.shift;
  return at < e.words ? at : at - e.words;
}

// The buffers of shared memory alternate, so that one barrier per step suffices: no thread writes a
// buffer before all threads have read it, which they do before the barrier.
__device__ inline uint32_t* states(const Exchange& e, unsigned char* shared, uint32_t step) {
  return reinterpret_cast<uint32_t*>(shared) + step % 2 * exchange_pitch(e.words);
}

// ---- a block ------------------------------------------------------------------------------------

__device__ inline void copy_step(const Exchange& e, uint32_t* to, const uint32_t* from) {
  for (uint32_t i = threadIdx.x; i < e.words; i += blockDim.x) to[i] = from[source_of(e, i)];
  __syncthreads();
}

__device__ inline void run_in_block(const Exchange& e, unsigned char* shared) {
  copy_step(e, states(e, shared, 0), e.source);
  for (uint32_t t = 1; t + 1 < e.steps; ++t)
    copy_step(e, states(e, shared, t), states(e, shared, t - 1));
  copy_step(e, e.destination, states(e, shared, e.steps - 2));
}

// ---- a cluster ----------------------------------------------------------------------------------

// Each block writes its words to the shared memory of all blocks.
__device__ inline void publish_step(const Exchange& e, uint32_t* to, const uint32_t* from) {
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < e.words; i += stride) {
    const uint32_t word = from[source_of(e, i)];
#pragma unroll
    for (uint32_t block = 0; block < EXCHANGE_CLUSTER_BLOCKS; ++block)
      store_to_block(block, to + i, word);
  }
  cluster_barrier();
}

__device__ inline void run_in_cluster(const Exchange& e, unsigned char* shared) {
  cluster_barrier();  // the blocks whose memory will be written have begun
  publish_step(e, states(e, shared, 0), e.source);
  for (uint32_t t = 1; t + 1 < e.steps; ++t)
    publish_step(e, states(e, shared, t), states(e, shared, t - 1));
  const uint32_t* const from = states(e, shared, e.steps - 2);
  const uint32_t stride = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < e.words; i += stride)
    e.destination[i] = from[source_of(e, i)];
}

// ---- all multiprocessors ------------------------------------------------------------------------

constexpr uint32_t kLoads = 4;    // words that a thread loads at once
constexpr uint32_t kVectors = 8;  // vectors of weights that a thread loads at once

__device__ inline uint64_t* mailbox(const Exchange& e, uint32_t step) {
  return e.mailbox + step % 2 * exchange_pitch(e.words);
}

// Receives the words of all blocks. Afterwards the block knows that all others have finished the
// step and have read the previous one.
__device__ inline void receive(const Exchange& e, uint32_t step, uint32_t* to) {
  const uint64_t* const from = mailbox(e, step);
  for (uint32_t first = 2 * threadIdx.x; first < e.words; first += 2 * kLoads * blockDim.x) {
    const auto place = [&](uint32_t k) { return first + 2 * k * blockDim.x; };
    uint4 v[kLoads];
    bool is_incomplete;
    LimitedWait wait;
    do {
      wait.look();
      is_incomplete = false;
#pragma unroll
      for (uint32_t k = 0; k < kLoads; ++k)
        if (place(k) < e.words) v[k] = load_mailbox(from + place(k));
#pragma unroll
      for (uint32_t k = 0; k < kLoads; ++k)
        is_incomplete |=
            place(k) < e.words && (v[k].y != step || (place(k) + 1 < e.words && v[k].w != step));
    } while (is_incomplete);
#pragma unroll
    for (uint32_t k = 0; k < kLoads; ++k) {
      if (place(k) < e.words) to[place(k)] = v[k].x;
      if (place(k) + 1 < e.words) to[place(k) + 1] = v[k].z;
    }
  }
}

// Reads the block's part of the weights. Returns 0, since all words are even. The words that a
// block publishes depend on the result, so that the compiler cannot omit a read.
__device__ inline uint32_t read_weights(const Exchange& e) {
  const auto* const weights = static_cast<const uint4*>(e.weights);
  const uint64_t begin = e.weight_vectors * blockIdx.x / gridDim.x;
  const uint64_t end = e.weight_vectors * (blockIdx.x + 1) / gridDim.x;
  uint32_t all = 0;
  for (uint64_t first = begin + threadIdx.x; first < end; first += kVectors * blockDim.x) {
    uint4 v[kVectors] = {};
#pragma unroll
    for (uint32_t k = 0; k < kVectors; ++k)
      if (first + k * blockDim.x < end) v[k] = load_uncached(weights + first + k * blockDim.x);
#pragma unroll
    for (uint32_t k = 0; k < kVectors; ++k) all |= v[k].x | v[k].y | v[k].z | v[k].w;
  }
  return all & 1;
}

__device__ inline void run_over_grid(const Exchange& e, unsigned char* shared) {
  const uint32_t before = *e.steps_before;
  const uint32_t begin = uint32_t(uint64_t(e.words) * blockIdx.x / gridDim.x);
  const uint32_t end = uint32_t(uint64_t(e.words) * (blockIdx.x + 1) / gridDim.x);
  for (uint32_t t = 0; t < e.steps; ++t) {
    const uint32_t step = before + t;
    uint32_t* const received = states(e, shared, t);
    if (t > 0) receive(e, step - 1, received);
    const uint32_t odd = __syncthreads_or(int(read_weights(e))) != 0;
    const uint32_t* const from = t > 0 ? received : e.source;
    for (uint32_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
      const uint32_t word = from[source_of(e, i)] | odd;
      if (t + 1 < e.steps)
        store_mailbox(mailbox(e, step) + i, word, step);
      else
        e.destination[i] = word;
    }
  }
  // All blocks have read the old number: this block received words from each of them.
  if (blockIdx.x == 0 && threadIdx.x == 0) *e.steps_before = before + e.steps;
}

}  // namespace exchange

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define EXCHANGE_CLUSTER  // no device below has clusters, and the host does not launch the kernel
#else
#define EXCHANGE_CLUSTER __cluster_dims__(EXCHANGE_CLUSTER_BLOCKS, 1, 1)
#endif

extern "C" __global__ void __launch_bounds__(EXCHANGE_MAX_THREADS)
    exchange_in_block(const __grid_constant__ Exchange e) {
  extern __shared__ __align__(16) unsigned char shared[];
  exchange::run_in_block(e, shared);
}

extern "C" __global__ void EXCHANGE_CLUSTER __launch_bounds__(EXCHANGE_MAX_THREADS)
    exchange_in_cluster(const __grid_constant__ Exchange e) {
  extern __shared__ __align__(16) unsigned char shared[];
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  exchange::run_in_cluster(e, shared);
#endif
}

extern "C" __global__ void __launch_bounds__(EXCHANGE_MAX_THREADS, 1)
    exchange_over_grid(const __grid_constant__ Exchange e) {
  extern __shared__ __align__(16) unsigned char shared[];
  exchange::run_over_grid(e, shared);
}
