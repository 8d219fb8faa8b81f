// One-shot collectives of blocks over ranks whose devices can access one another's memory. A call
// is one kernel on every rank, all with the same grid. Each rank copies its operand to where the
// others read it, waits once for all ranks, and reads the blocks of its result.
//
// The copies are in `staged`, which has two halves that alternate from step to step: a rank that is
// one call ahead does not overwrite data that others still read, so no barrier is needed at the
// end. A start barrier between two calls is a step as well, and orders them itself. Every copied
// block begins at a whole vector, wherever it lies in the operand. A block of threads copies the
// vectors that the same block of threads of the other ranks reads.
//
// kSent is the number of blocks in an operand. kWhole states that blocks consist of whole vectors,
// so that all of them begin at one.
#include "peer_primitives.h"

// The vector at a position in a block; zeros beyond the block.
template <bool kWhole>
__device__ uint4 load_from_block(const uint16_t* block, uint64_t halfwords, uint64_t at) {
  const uint16_t* const from = block + 8 * at;
  if (kWhole || (reinterpret_cast<uint64_t>(from) % 16 == 0 && 8 * at + 8 <= halfwords))
    return *reinterpret_cast<const uint4*>(from);
  uint32_t words[4];
  load_tail<4>(from, uint32_t(halfwords - 8 * at < 8 ? halfwords - 8 * at : 8), words);
  return {words[0], words[1], words[2], words[3]};
}

template <bool kWhole>
__device__ void store_to_block(uint16_t* block, uint64_t halfwords, uint64_t at, uint4 v) {
  uint16_t* const to = block + 8 * at;
  if (kWhole || (reinterpret_cast<uint64_t>(to) % 16 == 0 && 8 * at + 8 <= halfwords)) {
    *reinterpret_cast<uint4*>(to) = v;
    return;
  }
  const uint32_t words[4] = {v.x, v.y, v.z, v.w};
  store_tail<4>(to, uint32_t(halfwords - 8 * at < 8 ? halfwords - 8 * at : 8), words);
}

// Copies this rank's operand to its staged blocks.
template <int kSent, bool kWhole, int kVectorsInFlight>
__device__ void stage(const PeerBlocks& blocks, const uint16_t* mine, uint4* out) {
  for_each_vector<kVectorsInFlight>(0, blocks.vectors, [&](uint64_t at, auto count) {
    constexpr int n = decltype(count)::value;
    uint4 v[kSent][n];
#pragma unroll
    for (int i = 0; i < kSent; ++i)
#pragma unroll
      for (int k = 0; k < n; ++k)
        v[i][k] = load_from_block<kWhole>(mine + i * blocks.halfwords, blocks.halfwords,
                                          at + k * blockDim.x);
#pragma unroll
    for (int i = 0; i < kSent; ++i)
#pragma unroll
      for (int k = 0; k < n; ++k) out[i * blocks.vectors + at + k * blockDim.x] = v[i][k];
  });
}

// The result is one block, or a block from every rank in the order of ranks. A rank reads the
// blocks in turn, beginning with its own, so that not all ranks read from the same rank at once.
template <int kRanks, int kSent, int kReceived, bool kWhole, int kVectorsInFlight>
__global__ void __launch_bounds__(PEER_THREADS, 1)
    exchange_blocks(const __grid_constant__ Peers peers,
                    const __grid_constant__ PeerAddresses staged,
                    const __grid_constant__ PeerBlocks blocks, const uint16_t* mine,
                    uint16_t* result) {
  uint32_t step;
  if (!begin_call(peers, &step)) return;
  const uint64_t skipped = step % 2 * kSent * blocks.vectors;
  if (blocks.sends)
    stage<kSent, kWhole, kVectorsInFlight>(blocks, mine,
                                           static_cast<uint4*>(staged.of[peers.rank]) + skipped);
  if (!rank_barrier<kRanks>(peers, step + 1)) return;
  if (blocks.receives) {
    const uint4* from[kReceived];
    uint16_t* to[kReceived];
#pragma unroll
    for (int i = 0; i < kReceived; ++i) {
      const uint32_t block = kReceived == 1 ? 0 : (peers.rank + i) % kRanks;
      from[i] = static_cast<uint4*>(staged.of[(blocks.first_source + block) % kRanks]) + skipped +
                blocks.source_block * blocks.vectors;
      to[i] = result + block * blocks.halfwords;
    }
    for_each_vector<kVectorsInFlight>(0, blocks.vectors, [&](uint64_t at, auto count) {
      constexpr int n = decltype(count)::value;
      uint4 v[kReceived][n];
#pragma unroll
      for (int i = 0; i < kReceived; ++i)
#pragma unroll
        for (int k = 0; k < n; ++k) v[i][k] = load(from[i] + at + k * blockDim.x);
#pragma unroll
      for (int i = 0; i < kReceived; ++i)
#pragma unroll
        for (int k = 0; k < n; ++k)
          store_to_block<kWhole>(to[i], blocks.halfwords, at + k * blockDim.x, v[i][k]);
    });
  }
  end_call(peers, step + 1);
}

// The result is one block: the sum of a block from every rank, added in the order of ranks.
template <class T, int kRanks, bool kWhole, int kVectorsInFlight>
__global__ void __launch_bounds__(PEER_THREADS, 1)
    reduce_blocks(const __grid_constant__ Peers peers, const __grid_constant__ PeerAddresses staged,
                  const __grid_constant__ PeerBlocks blocks, const uint16_t* mine,
                  uint16_t* result) {
  uint32_t step;
  if (!begin_call(peers, &step)) return;
  const uint64_t skipped = step % 2 * kRanks * blocks.vectors;
  stage<kRanks, kWhole, kVectorsInFlight>(blocks, mine,
                                          static_cast<uint4*>(staged.of[peers.rank]) + skipped);
  if (!rank_barrier<kRanks>(peers, step + 1)) return;
  const uint64_t read = skipped + blocks.source_block * blocks.vectors;
  for_each_vector<kVectorsInFlight>(0, blocks.vectors, [&](uint64_t at, auto count) {
    constexpr int n = decltype(count)::value;
    uint4 v[kRanks][n];
#pragma unroll
    for (int i = 0; i < kRanks; ++i)
#pragma unroll
      for (int k = 0; k < n; ++k)
        v[i][k] = load(static_cast<uint4*>(staged.of[i]) + read + at + k * blockDim.x);
#pragma unroll
    for (int k = 0; k < n; ++k)
      store_to_block<kWhole>(result, blocks.halfwords, at + k * blockDim.x, sum_of<T>(v, k));
  });
  end_call(peers, step + 1);
}
