/* Building blocks of the collectives over ranks: accesses to memory that several devices share,
 * flags, and float sums of 16-bit and 32-bit numbers. */
#ifndef DEEPBENCH_CUDA_KERNELS_PEER_PRIMITIVES_H_
#define DEEPBENCH_CUDA_KERNELS_PEER_PRIMITIVES_H_

#include "device_clock.h"
#include "fill.h"
#include "numbers.h"
#include "peer_control.h"

namespace {

// ---- memory that other ranks write --------------------------------------------------------------

// In tests on the host, these functions use the host's atomics.

__device__ inline uint32_t read_flag(const uint32_t* flag) {
#ifdef __CUDACC__
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
#else
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
#endif
}

__device__ inline void write_flag(uint32_t* flag, uint32_t value) {
#ifdef __CUDACC__
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
#else
  __atomic_store_n(flag, value, __ATOMIC_RELEASE);
#endif
}

// Bypasses the caches that do not see writes of other devices.
__device__ inline uint4 load(const uint4* from) {
#ifdef __CUDACC__
  uint4 v;
  asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from)
               : "memory");
  return v;
#else
  return *from;
#endif
}

// Two 64-bit words. Each word is written and read atomically.
struct Pair {
  uint64_t first, second;
};

__device__ inline Pair load_pair(const Pair* from) {
#ifdef __CUDACC__
  Pair pair;
  asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(pair.first), "=l"(pair.second)
               : "l"(from)
               : "memory");
  return pair;
#else
  return {__atomic_load_n(&from->first, __ATOMIC_RELAXED),
          __atomic_load_n(&from->second, __ATOMIC_RELAXED)};
#endif
}

__device__ inline void store_pair(Pair* to, Pair pair) {
#ifdef __CUDACC__
  asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(pair.first),
               "l"(pair.second)
               : "memory");
#else
  __atomic_store_n(&to->first, pair.first, __ATOMIC_RELAXED);
  __atomic_store_n(&to->second, pair.second, __ATOMIC_RELAXED);
#endif
}

// ---- waiting for other ranks --------------------------------------------------------------------

__device__ inline PeerControl* control_of(const Peers& peers, uint32_t rank) {
  return static_cast<PeerControl*>(peers.control.of[rank]);
}

// Ends this call and all later calls on this rank, and informs the host. Only the first missing
// rank is recorded.
__device__ inline void report_missing(const Peers& peers, uint32_t rank) {
  volatile uint32_t* const mine = &control_of(peers, peers.rank)->missing;
  volatile uint32_t* const host_missing = peers.host_missing;
  if (*mine != 0) return;
  *mine = rank + 1;
  if (*host_missing == 0) *host_missing = rank + 1;
}

// Waits until has_arrived() returns true. Returns false and reports the rank as missing if the
// timeout expires or the host aborts.
template <class HasArrived>
__device__ bool wait_until(const Peers& peers, uint32_t rank, HasArrived has_arrived) {
  // Polls before the clock and the host's memory are read.
  constexpr uint32_t kPollsPerClockRead = 64;
  volatile const uint32_t* const host_missing = peers.host_missing;
  uint64_t begin = 0;
  for (;;) {
#pragma unroll 1
    for (uint32_t turn = 0; turn < kPollsPerClockRead; ++turn)
      if (has_arrived()) return true;
    const uint64_t now = now_ns();
    if (begin == 0) begin = now;
    if (now - begin > peers.timeout_ns || *host_missing != 0) break;
  }
  report_missing(peers, rank);
  return false;
}

__device__ inline bool wait_for_flag(const Peers& peers, uint32_t rank, uint32_t step) {
  const uint32_t* const flag = &control_of(peers, peers.rank)->flags[blockIdx.x][rank];
  return wait_until(peers, rank, [&] { return int32_t(read_flag(flag) - step) >= 0; });
}

__device__ inline void signal(const Peers& peers, uint32_t rank, uint32_t step) {
  write_flag(&control_of(peers, rank)->flags[blockIdx.x][peers.rank], step);
}

// Sets `step` to the step at which this block continues. Returns false if an earlier call missed a
// rank.
__device__ inline bool begin_call(const Peers& peers, uint32_t* step) {
  PeerControl* const mine = control_of(peers, peers.rank);
  *step = mine->steps[blockIdx.x];
  return !__syncthreads_or(*static_cast<volatile uint32_t*>(&mine->missing) != 0);
}

__device__ inline void end_call(const Peers& peers, uint32_t step) {
  __syncthreads();
  if (threadIdx.x == 0) control_of(peers, peers.rank)->steps[blockIdx.x] = step;
}

// A barrier of this block across ranks: writes that precede it on any rank are visible on all ranks
// after it. Returns false if a rank is missing.
template <int kRanks>
__device__ bool rank_barrier(const Peers& peers, uint32_t step) {
  __syncthreads();
  bool missed = false;
  for (uint32_t rank = threadIdx.x; rank < kRanks; rank += blockDim.x)
    if (rank != peers.rank) signal(peers, rank, step);
  for (uint32_t rank = threadIdx.x; rank < kRanks; rank += blockDim.x)
    if (rank != peers.rank) missed |= !wait_for_flag(peers, rank, step);
  return !__syncthreads_or(missed);
}

// ---- numbers ------------------------------------------------------------------------------------

// Accumulates the words of several ranks in float.
template <class T, int kWords>
struct Sum {
  float values[kWords * T::kPerWord];

  __device__ void start(const uint32_t* words) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) T::widen(words[i], values + i * T::kPerWord);
  }
  __device__ void add(const uint32_t* words) {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      float added[T::kPerWord];
      T::widen(words[i], added);
#pragma unroll
      for (int k = 0; k < T::kPerWord; ++k) values[i * T::kPerWord + k] += added[k];
    }
  }
  __device__ void finish(uint32_t* words) const {
#pragma unroll
    for (int i = 0; i < kWords; ++i) words[i] = T::rounded(values + i * T::kPerWord);
  }
};

template <class T>
struct VectorSum {
  Sum<T, 4> sum;
  __device__ void start(uint4 v) {
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
    sum.start(words);
  }
  __device__ void add(uint4 v) {
    const uint32_t words[4] = {v.x, v.y, v.z, v.w};
    sum.add(words);
  }
  __device__ uint4 finish() const {
    uint32_t words[4];
    sum.finish(words);
    return {words[0], words[1], words[2], words[3]};
  }
};

// The sum of all ranks' vectors at one position, added in the order of `v`.
template <class T, int kRanks, int kCount>
__device__ uint4 sum_of(const uint4 (&v)[kRanks][kCount], int k) {
  VectorSum<T> sum;
  sum.start(v[0][k]);
#pragma unroll
  for (int i = 1; i < kRanks; ++i) sum.add(v[i][k]);
  return sum.finish();
}

// ---- elements beyond the last whole vector ------------------------------------------------------

template <class T>
struct Extent {
  static constexpr uint64_t kPerVector = 4 * T::kPerWord;
  uint64_t vectors;  // whole vectors
  uint32_t tail;     // halfwords beyond them

  explicit __device__ Extent(uint64_t elements)
      : vectors(elements / kPerVector), tail(uint32_t(elements % kPerVector) * 2 / T::kPerWord) {}
};

// Loads `halfwords` units of 16 bits and sets the rest of `words` to zero.
template <int kWords>
__device__ void load_tail(const void* from, uint32_t halfwords, uint32_t* words) {
  const auto* const in = static_cast<const volatile uint16_t*>(from);
#pragma unroll
  for (int i = 0; i < kWords; ++i) words[i] = 0;
#pragma unroll
  for (uint32_t i = 0; i < 2 * kWords; ++i)
    if (i < halfwords) words[i / 2] |= uint32_t(in[i]) << (i % 2 * 16);
}

template <int kWords>
__device__ void store_tail(void* to, uint32_t halfwords, const uint32_t* words) {
  auto* const out = static_cast<uint16_t*>(to);
#pragma unroll
  for (uint32_t i = 0; i < 2 * kWords; ++i)
    if (i < halfwords) out[i] = uint16_t(words[i / 2] >> (i % 2 * 16));
}

__device__ inline uint4 load_tail(const uint4* from, uint32_t halfwords) {
  uint32_t words[4];
  load_tail<4>(from, halfwords, words);
  return {words[0], words[1], words[2], words[3]};
}

__device__ inline void store_tail(uint4* to, uint32_t halfwords, uint4 v) {
  const uint32_t words[4] = {v.x, v.y, v.z, v.w};
  store_tail<4>(to, halfwords, words);
}

// ---- walking over vectors -----------------------------------------------------------------------

template <int kCount>
struct Count {
  static constexpr int value = kCount;
};

// Calls body(at, count) for the vectors at, at + blockDim.x, ..., `count` of them, such that the
// threads of all blocks access adjacent vectors. `count` is kVectorsInFlight while as many vectors
// remain, then 1.
template <int kVectorsInFlight, class Body>
__device__ void for_each_vector(uint64_t begin, uint64_t end, Body body) {
  const uint64_t apart = blockDim.x;
  uint64_t at = begin + uint64_t(blockIdx.x) * apart * kVectorsInFlight + threadIdx.x;
  for (; at + (kVectorsInFlight - 1) * apart < end; at += gridDim.x * apart * kVectorsInFlight)
    body(at, Count<kVectorsInFlight>());
  for (; at < end; at += apart) body(at, Count<1>());
}

// One of `parts` parts of the vectors. Parts begin at multiples of 512 bytes, the size of a warp's
// access.
struct Part {
  uint64_t begin, end;
};

__device__ inline uint64_t part_begin(uint64_t vectors, uint32_t part, uint32_t parts) {
  constexpr uint64_t kGrain = 32;
  const uint64_t grains = (vectors + kGrain - 1) / kGrain, at = grains * part / parts * kGrain;
  return at < vectors ? at : vectors;
}

__device__ inline Part part_of(uint64_t vectors, uint32_t part, uint32_t parts) {
  return {part_begin(vectors, part, parts), part_begin(vectors, part + 1, parts)};
}

// Whether this is the one thread that handles the elements beyond the last whole vector.
__device__ inline bool is_last() { return blockIdx.x + 1 == gridDim.x && threadIdx.x == 0; }

}  // namespace

#endif  // DEEPBENCH_CUDA_KERNELS_PEER_PRIMITIVES_H_
