/* The data that ranks share if their devices can access one another's memory: control words at
 * the beginning of each rank's region, and the addresses of all data. These are plain structs with
 * the same layout for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_PEER_CONTROL_H_
#define DEEPBENCH_CUDA_KERNELS_PEER_CONTROL_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

enum { PEER_MAX_RANKS = 8, PEER_MAX_BLOCKS = 256, PEER_THREADS = 512 };

enum { PEER_ABORTED = 1 << 30 };

/* Initially zero. Block b of a rank synchronizes only with block b of the other ranks, so that no
 * rank waits for a whole grid. Step numbers grow from call to call and are compared by their
 * difference. */
typedef struct PeerControl {
  /* [block][rank]: the step that this rank's block has reached, as written by that rank. */
  uint32_t flags[PEER_MAX_BLOCKS][PEER_MAX_RANKS];
  /* The step at which each block of this rank ended its last call. */
  uint32_t steps[PEER_MAX_BLOCKS];
  uint32_t missing; /* 1 + a rank that timed out, or 0 if all ranks arrived */
} PeerControl;

/* One address per rank, as this rank's device accesses it. */
typedef struct PeerAddresses {
  void* of[PEER_MAX_RANKS];
} PeerAddresses;

typedef struct Peers {
  PeerAddresses control; /* addresses of PeerControl */
  uint64_t timeout_ns;   /* how long a block waits for a block of another rank */
  /* Like PeerControl::missing, but in host memory. The host sets PEER_ABORTED. */
  uint32_t* host_missing;
  uint32_t rank;
} Peers;

/* The data that a rank sends and receives in a call of peer_exchange.cu. All blocks have the
 * same size. */
typedef struct PeerBlocks {
  uint64_t halfwords;    /* size of a block in units of 16 bits */
  uint64_t vectors;      /* vectors that hold a block for the other ranks to read */
  uint32_t sends;        /* 0 if no rank reads this rank's operand */
  uint32_t receives;     /* 0 if this rank has no result */
  uint32_t first_source; /* the rank from which the first block of the result comes */
  uint32_t source_block; /* the block of each source's operand that this rank reads */
} PeerBlocks;

#endif /* DEEPBENCH_CUDA_KERNELS_PEER_CONTROL_H_ */
