/* What ranks on devices that reach one another's memory share: control words at the beginning of
 * each rank's region, and where everything lies. Plain structs, the same for the host's compiler
 * and the device's. */
#ifndef DEEPBENCH_CUDA_KERNELS_PEER_CONTROL_H_
#define DEEPBENCH_CUDA_KERNELS_PEER_CONTROL_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* names the integers */
#else
#include <stdint.h>
#endif

enum { PEER_MAX_RANKS = 8, PEER_MAX_BLOCKS = 256, PEER_THREADS = 512 };

enum { PEER_ABORTED = 1 << 30 };

/* Zeros at first. Block b of a rank deals with block b of the others alone, so that nothing waits
 * for a whole grid. Numbers grow from call to call and are compared by their difference. */
typedef struct PeerControl {
  uint32_t flags[PEER_MAX_BLOCKS][PEER_MAX_RANKS]; /* [block][rank]: how far that rank's block
                                                        has come; that rank writes it */
  uint32_t steps[PEER_MAX_BLOCKS]; /* how far this rank's blocks came in the calls before */
  uint32_t missing;                /* 1 + a rank that did not come in time; 0: all came */
} PeerControl;

/* One address of each rank, as this rank's device reaches it. */
typedef struct PeerAddresses {
  void* of[PEER_MAX_RANKS];
} PeerAddresses;

typedef struct Peers {
  PeerAddresses control; /* PeerControl */
  uint64_t timeout_ns;   /* how long a block waits for another rank's */
  uint32_t*
      host_missing; /* as PeerControl::missing, in the host's memory; PEER_ABORTED is its own */
  uint32_t rank;
} Peers;

#endif /* DEEPBENCH_CUDA_KERNELS_PEER_CONTROL_H_ */
