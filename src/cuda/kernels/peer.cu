// Sums over ranks whose devices can access one another's memory. A call is one kernel on every
// rank, all with the same grid. It needs no action of the host, so that calls can follow one
// another in a graph. If a rank does not arrive in time, the call and all later calls end without a
// result.
#include "peer_primitives.h"

// The addresses of the operands in the order in which this rank reads them: the ranks in turn, from
// `first` on.
template <int kRanks>
struct RankRotation {
  uint4* of[kRanks];

  __device__ RankRotation(const PeerAddresses& places, uint32_t first) {
#pragma unroll
    for (int i = 0; i < kRanks; ++i) {
      const uint32_t rank = first + i < kRanks ? first + i : first + i - kRanks;
      of[i] = static_cast<uint4*>(places.of[rank]);
    }
  }
};

// The end of both two-shot algorithms: stores the sums on every rank.
template <class T, int kRanks, int kCount>
__device__ void store_sums(const uint4 (&v)[kRanks][kCount], const RankRotation<kRanks>& to,
                           uint64_t at) {
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    const uint4 out = sum_of<T>(v, k);
#pragma unroll
    for (int i = 0; i < kRanks; ++i) to.of[i][at + k * blockDim.x] = out;
  }
}

template <class T, int kRanks>
__device__ void store_sum_of_tail(const uint4 (&v)[kRanks][1], const RankRotation<kRanks>& to,
                                  const Extent<T>& extent) {
  const uint4 out = sum_of<T>(v, 0);
#pragma unroll
  for (int i = 0; i < kRanks; ++i) store_tail(to.of[i] + extent.vectors, extent.tail, out);
}

// Every rank reads the operands of all ranks and computes all sums itself, in the order of ranks,
// so that all ranks get the same bits. The other ranks read this rank's operand from `staged`,
// which has two halves that alternate from call to call: a rank that is one call ahead does not
// overwrite data that others still read, so no barrier is needed at the end. `half_vectors` is the
// size of one half.
template <class T, int kRanks, int kVectorsInFlight>
__global__ void __launch_bounds__(PEER_THREADS, 1)
    one_shot(const __grid_constant__ Peers peers, const __grid_constant__ PeerAddresses staged,
             uint64_t half_vectors, const uint4* mine, uint4* result, uint64_t elements) {
  uint32_t step;
  if (!begin_call(peers, &step)) return;
  const Extent<T> extent(elements);
  const uint64_t skipped = step % 2 * half_vectors;
  uint4* const out = static_cast<uint4*>(staged.of[peers.rank]) + skipped;
  for_each_vector<kVectorsInFlight>(0, extent.vectors, [&](uint64_t at, auto count) {
    constexpr int n = decltype(count)::value;
    uint4 v[n];
#pragma unroll
    for (int k = 0; k < n; ++k) v[k] = mine[at + k * blockDim.x];
#pragma unroll
    for (int k = 0; k < n; ++k) out[at + k * blockDim.x] = v[k];
  });
  if (is_last() && extent.tail) out[extent.vectors] = load_tail(mine + extent.vectors, extent.tail);

  if (!rank_barrier<kRanks>(peers, step + 1)) return;
  const RankRotation<kRanks> from(staged, 0);
  for_each_vector<kVectorsInFlight>(0, extent.vectors, [&](uint64_t at, auto count) {
    constexpr int n = decltype(count)::value;
    uint4 v[kRanks][n];
#pragma unroll
    for (int i = 0; i < kRanks; ++i)
#pragma unroll
      for (int k = 0; k < n; ++k) v[i][k] = load(from.of[i] + skipped + at + k * blockDim.x);
#pragma unroll
    for (int k = 0; k < n; ++k) result[at + k * blockDim.x] = sum_of<T>(v, k);
  });
  if (is_last() && extent.tail) {
    VectorSum<T> sum;
    sum.start(load(from.of[0] + skipped + extent.vectors));
    for (int i = 1; i < kRanks; ++i) sum.add(load(from.of[i] + skipped + extent.vectors));
    store_tail(result + extent.vectors, extent.tail, sum.finish());
  }
  end_call(peers, step + 1);
}

// Like one_shot, but each rank sends its operand to all others, and every 32 bits of data carry the
// number of the call: the receiver recognizes data that has arrived without a separate flag, at the
// price of twice the bytes. `inbox` has two halves that alternate, each with `units` pairs for
// every rank; a pair is two words of 64 bits that hold 32 bits of data each.
template <class T, int kRanks>
__global__ void __launch_bounds__(PEER_THREADS, 1)
    one_shot_ll(const __grid_constant__ Peers peers, const __grid_constant__ PeerAddresses inbox,
                uint64_t units, const uint2* mine, uint2* result, uint64_t elements) {
  uint32_t step;
  if (!begin_call(peers, &step)) return;
  const uint32_t call = step + 1;
  const uint64_t flag = uint64_t(call) << 32, skipped = call % 2 * kRanks * units;
  const uint64_t whole = elements / (2 * T::kPerWord);
  const uint32_t tail = uint32_t(elements % (2 * T::kPerWord)) * 2 / T::kPerWord;
  const uint64_t first = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const Pair* const arrived = static_cast<const Pair*>(inbox.of[peers.rank]) + skipped;
  bool all_arrived = true;
  for (uint64_t at = first; at < units && all_arrived; at += uint64_t(gridDim.x) * blockDim.x) {
    uint32_t added_words[2];
    if (at < whole) {
      const uint2 words = mine[at];
      added_words[0] = words.x, added_words[1] = words.y;
    } else {
      load_tail<2>(mine + at, tail, added_words);
    }
#pragma unroll
    for (int i = 1; i < kRanks; ++i) {
      const uint32_t rank = (peers.rank + i) % kRanks;
      store_pair(static_cast<Pair*>(inbox.of[rank]) + skipped + peers.rank * units + at,
                 {added_words[0] | flag, added_words[1] | flag});
    }
    Sum<T, 2> sum;
#pragma unroll
    for (int rank = 0; rank < kRanks; ++rank) {
      uint32_t words[2] = {added_words[0], added_words[1]};
      if (rank != int(peers.rank)) {
        Pair pair;
        all_arrived &= wait_until(peers, rank, [&] {
          pair = load_pair(arrived + rank * units + at);
          return uint32_t(pair.first >> 32) == call && uint32_t(pair.second >> 32) == call;
        });
        words[0] = uint32_t(pair.first), words[1] = uint32_t(pair.second);
      }
      if (rank == 0)
        sum.start(words);
      else
        sum.add(words);
    }
    if (!all_arrived) break;
    uint32_t words[2];
    sum.finish(words);
    if (at < whole)
      result[at] = {words[0], words[1]};
    else
      store_tail<2>(result + at, tail, words);
  }
  if (__syncthreads_or(!all_arrived)) return;
  end_call(peers, call);
}

// Every rank computes the sums of one slice directly from all ranks' operands and writes them into
// all ranks' results, without intermediate storage. No two ranks touch the same element, so that
// results may replace operands. Each sum begins with the operand of the rank that computes it.
template <class T, int kRanks, int kVectorsInFlight>
__global__ void __launch_bounds__(PEER_THREADS, 1)
    two_shot(const __grid_constant__ Peers peers, const __grid_constant__ PeerAddresses added,
             const __grid_constant__ PeerAddresses results, uint64_t elements) {
  uint32_t step;
  if (!begin_call(peers, &step) || !rank_barrier<kRanks>(peers, step + 1)) return;
  const Extent<T> extent(elements);
  const RankRotation<kRanks> from(added, peers.rank), to(results, peers.rank);
  const Part slice = part_of(extent.vectors, peers.rank, kRanks);
  for_each_vector<kVectorsInFlight>(slice.begin, slice.end, [&](uint64_t at, auto count) {
    constexpr int n = decltype(count)::value;
    uint4 v[kRanks][n];
#pragma unroll
    for (int k = 0; k < n; ++k)
#pragma unroll
      for (int i = 0; i < kRanks; ++i) v[i][k] = load(from.of[i] + at + k * blockDim.x);
    store_sums<T>(v, to, at);
  });
  if (peers.rank + 1 == kRanks && is_last() && extent.tail) {
    uint4 v[kRanks][1];
#pragma unroll
    for (int i = 0; i < kRanks; ++i) v[i][0] = load_tail(from.of[i] + extent.vectors, extent.tail);
    store_sum_of_tail<T>(v, to, extent);
  }
  if (!rank_barrier<kRanks>(peers, step + 2)) return;
  end_call(peers, step + 2);
}

// Like two_shot, but no rank reads over the links, which is faster for large operands: each rank
// first sends to every other rank the slice that the other rank sums. `inbox` has `room` vectors
// for each rank, which hold a slice and the elements beyond the last whole vector. `room` is
// rounded up so that every rank's part begins at a whole line of memory, because writes of partial
// lines are slow. A block sends the vectors that the same block of the receiver sums.
template <class T, int kRanks, int kVectorsInFlight>
__global__ void __launch_bounds__(PEER_THREADS, 1)
    two_shot_push(const __grid_constant__ Peers peers, const __grid_constant__ PeerAddresses inbox,
                  uint64_t room, const uint4* mine, const __grid_constant__ PeerAddresses results,
                  uint64_t elements) {
  uint32_t step;
  if (!begin_call(peers, &step)) return;
  const Extent<T> extent(elements);
#pragma unroll 1
  for (uint32_t i = 1; i < kRanks; ++i) {
    const uint32_t rank = (peers.rank + i) % kRanks;
    const Part slice = part_of(extent.vectors, rank, kRanks);
    uint4* const out = static_cast<uint4*>(inbox.of[rank]) + peers.rank * room;
    for_each_vector<kVectorsInFlight>(slice.begin, slice.end, [&](uint64_t at, auto count) {
      constexpr int n = decltype(count)::value;
      uint4 v[n];
#pragma unroll
      for (int k = 0; k < n; ++k) v[k] = mine[at + k * blockDim.x];
#pragma unroll
      for (int k = 0; k < n; ++k) out[at - slice.begin + k * blockDim.x] = v[k];
    });
    if (rank + 1 == kRanks && is_last() && extent.tail)
      out[room - 1] = load_tail(mine + extent.vectors, extent.tail);
  }
  if (!rank_barrier<kRanks>(peers, step + 1)) return;

  const RankRotation<kRanks> to(results, peers.rank);
  const Part slice = part_of(extent.vectors, peers.rank, kRanks);
  const uint4* in[kRanks];  // arrays of the other ranks in turn
#pragma unroll
  for (int i = 1; i < kRanks; ++i)
    in[i] = static_cast<uint4*>(inbox.of[peers.rank]) + (peers.rank + i) % kRanks * room;
  for_each_vector<kVectorsInFlight>(slice.begin, slice.end, [&](uint64_t at, auto count) {
    constexpr int n = decltype(count)::value;
    uint4 v[kRanks][n];
#pragma unroll
    for (int k = 0; k < n; ++k) {
      v[0][k] = mine[at + k * blockDim.x];
#pragma unroll
      for (int i = 1; i < kRanks; ++i) v[i][k] = load(in[i] + at - slice.begin + k * blockDim.x);
    }
    store_sums<T>(v, to, at);
  });
  if (peers.rank + 1 == kRanks && is_last() && extent.tail) {
    uint4 v[kRanks][1];
    v[0][0] = load_tail(mine + extent.vectors, extent.tail);
#pragma unroll
    for (int i = 1; i < kRanks; ++i) v[i][0] = load(in[i] + room - 1);
    store_sum_of_tail<T>(v, to, extent);
  }
  if (!rank_barrier<kRanks>(peers, step + 2)) return;
  end_call(peers, step + 2);
}

// Scatter-reduce followed by all-gather. Each rank writes only to its right neighbor. Partial sums
// lie in `passed`, which is as large as the operand; they are rounded after each addition. A rank
// may overwrite a slice because the flag it waited for has traveled around the whole ring, which
// implies that the slice has been read.
template <class T, int kRanks, int kVectorsInFlight>
__global__ void __launch_bounds__(PEER_THREADS, 1)
    ring(const __grid_constant__ Peers peers, const __grid_constant__ PeerAddresses passed,
         const uint4* mine, const __grid_constant__ PeerAddresses results, uint64_t elements) {
  uint32_t step;
  if (!begin_call(peers, &step)) return;
  const Extent<T> extent(elements);
  const uint32_t rank = peers.rank, right = (rank + 1) % kRanks,
                 left = (rank + kRanks - 1) % kRanks;
  const uint4* const arrived = static_cast<uint4*>(passed.of[rank]);
  uint4* const next = static_cast<uint4*>(passed.of[right]);
  uint4* const result = static_cast<uint4*>(results.of[rank]);
  uint4* const right_result = static_cast<uint4*>(results.of[right]);
  for (uint32_t turn = 0; turn < 2 * kRanks - 2; ++turn) {
    if (turn > 0 && __syncthreads_or(threadIdx.x == 0 && !wait_for_flag(peers, left, step + turn)))
      return;
    const uint32_t part = (rank + 2 * kRanks - turn) % kRanks;
    const Part slice = part_of(extent.vectors, part, kRanks);
    const bool adds = turn > 0 && turn < kRanks, is_sum = turn + 1 >= kRanks;
    const uint4* const from = turn < kRanks ? mine : result;
    for_each_vector<kVectorsInFlight>(slice.begin, slice.end, [&](uint64_t at, auto count) {
      constexpr int n = decltype(count)::value;
      uint4 v[n], w[n];
#pragma unroll
      for (int k = 0; k < n; ++k) v[k] = load(from + at + k * blockDim.x);
      if (adds) {
#pragma unroll
        for (int k = 0; k < n; ++k) w[k] = load(arrived + at + k * blockDim.x);
      }
#pragma unroll
      for (int k = 0; k < n; ++k) {
        if (adds) {
          VectorSum<T> sum;
          sum.start(w[k]);
          sum.add(v[k]);
          v[k] = sum.finish();
        }
        if (!is_sum) {
          next[at + k * blockDim.x] = v[k];
          continue;
        }
        if (adds) result[at + k * blockDim.x] = v[k];
        right_result[at + k * blockDim.x] = v[k];
      }
    });
    if (part + 1 == kRanks && is_last() && extent.tail) {
      uint4 v = load_tail(from + extent.vectors, extent.tail);
      if (adds) {
        VectorSum<T> sum;
        sum.start(load(arrived + extent.vectors));
        sum.add(v);
        v = sum.finish();
      }
      if (!is_sum) next[extent.vectors] = v;
      if (is_sum && adds) store_tail(result + extent.vectors, extent.tail, v);
      if (is_sum) store_tail(right_result + extent.vectors, extent.tail, v);
    }
    __syncthreads();
    if (threadIdx.x == 0) signal(peers, right, step + turn + 1);
  }
  if (__syncthreads_or(threadIdx.x == 0 && !wait_for_flag(peers, left, step + 2 * kRanks - 2)))
    return;
  end_call(peers, step + 2 * kRanks - 2);
}

// Ends on every rank only after it has begun on all ranks.
template <int kRanks>
__global__ void barrier_kernel(const __grid_constant__ Peers peers) {
  uint32_t step;
  if (!begin_call(peers, &step) || !rank_barrier<kRanks>(peers, step + 1)) return;
  end_call(peers, step + 1);
}
