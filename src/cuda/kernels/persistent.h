/* The arguments of the kernel of persistent.cu and the layout of a block's shared memory, the same
 * for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_PERSISTENT_H_
#define DEEPBENCH_CUDA_KERNELS_PERSISTENT_H_

#include "recurrence.h"

#define PERSISTENT_WARPS 8
#define PERSISTENT_THREADS (32 * PERSISTENT_WARPS)
#define PERSISTENT_MAX_BATCH 8      /* columns of one tensor core product */
#define PERSISTENT_MAX_REGISTERS 22 /* pairs of tiles of weights that a warp keeps in registers */
#define PERSISTENT_TILE 16          /* rows and columns of a tile of weights */
#define PERSISTENT_PAIR_COLUMNS 32  /* columns of two adjacent tiles, which are loaded together */
#define PERSISTENT_PAIR_BYTES 1024

/* All elements are 16 bits wide. */
typedef struct PersistentLayer {
  const uint16_t* x;  /* [t][n][unit]; added to every gate */
  const uint16_t* u;  /* [gate][unit][j] */
  const uint16_t* b;  /* [gate][unit]; for gru, b' follows */
  const uint16_t* h0; /* [n][unit] */
  const uint16_t* c0; /* [n][unit]; only for lstm */
  uint16_t* y;        /* [t][n][unit] */
  /* The words through which blocks exchange h(t): each holds two elements and the number of
   * their step, which arrive together. [step % 2][n][unit / 2], with persistent_mailbox_pitch()
   * units for each n. */
  uint64_t* mailbox;
  uint32_t* steps; /* counts the steps of all calls, so that no two steps have the same number */
  uint32_t timesteps;
} PersistentLayer;

/* A block holds the rows of U that belong to `units` units, for all gates. Each warp holds a
 * part of every row, in whole pairs of tiles, with zeros beyond the last unit. */
typedef struct PersistentShape {
  uint32_t gates, hidden, units;
} PersistentShape;

#ifdef __CUDACC__
#define PERSISTENT_INLINE __host__ __device__ constexpr
#else
#define PERSISTENT_INLINE constexpr
#endif

PERSISTENT_INLINE uint32_t persistent_rows(PersistentShape s) { return s.gates * s.units; }
/* The number of adjacent pairs of tiles in one warp. */
PERSISTENT_INLINE uint32_t persistent_column_pairs(PersistentShape s) {
  return (s.hidden + PERSISTENT_WARPS * PERSISTENT_PAIR_COLUMNS - 1) /
         (PERSISTENT_WARPS * PERSISTENT_PAIR_COLUMNS);
}
/* The number of full tiles on top of one another. A last tile of at most eight rows is excluded. */
PERSISTENT_INLINE uint32_t persistent_full_row_tiles(PersistentShape s) {
  return persistent_rows(s) < PERSISTENT_TILE
             ? 1
             : (persistent_rows(s) + PERSISTENT_TILE / 2 - 1) / PERSISTENT_TILE;
}
/* The rows of that last tile, or 0 if there is no such tile. */
PERSISTENT_INLINE uint32_t persistent_partial_rows(PersistentShape s) {
  return persistent_rows(s) > PERSISTENT_TILE * persistent_full_row_tiles(s)
             ? persistent_rows(s) - PERSISTENT_TILE * persistent_full_row_tiles(s)
             : 0;
}
PERSISTENT_INLINE uint32_t persistent_pairs(PersistentShape s) {
  return persistent_full_row_tiles(s) * persistent_column_pairs(s);
}
/* The number of pairs that a warp holds in registers, and the number that it holds in shared
 * memory. */
PERSISTENT_INLINE uint32_t persistent_register_pairs(PersistentShape s) {
  return persistent_pairs(s) < PERSISTENT_MAX_REGISTERS ? persistent_pairs(s)
                                                        : PERSISTENT_MAX_REGISTERS;
}
PERSISTENT_INLINE uint32_t persistent_shared_pairs(PersistentShape s) {
  return persistent_pairs(s) - persistent_register_pairs(s);
}

/* The units of one sequence in the mailbox, which are read in groups of four. */
PERSISTENT_INLINE uint32_t persistent_mailbox_pitch(PersistentShape s) {
  return (s.hidden + 3) / 4 * 4;
}

/* The bytes of a warp's part of h(t - 1) of one sequence, chosen so that neighboring sequences use
 * different banks. */
PERSISTENT_INLINE uint32_t persistent_pitch(PersistentShape s) {
  return 2 * PERSISTENT_PAIR_COLUMNS * (persistent_column_pairs(s) | 1);
}

/* The layout of shared memory: pairs of full tiles, pairs of partial tiles, states, and partial
 * sums (two buffers that alternate). */
PERSISTENT_INLINE uint32_t persistent_partial_offset(PersistentShape s) {
  return PERSISTENT_WARPS * PERSISTENT_PAIR_BYTES * persistent_shared_pairs(s);
}
PERSISTENT_INLINE uint32_t persistent_states_offset(PersistentShape s) {
  return persistent_partial_offset(s) + PERSISTENT_WARPS * 2 * PERSISTENT_PAIR_COLUMNS *
                                            persistent_partial_rows(s) * persistent_column_pairs(s);
}
PERSISTENT_INLINE uint32_t persistent_sums_offset(PersistentShape s, uint32_t batch) {
  return persistent_states_offset(s) + PERSISTENT_WARPS * batch * persistent_pitch(s);
}
PERSISTENT_INLINE uint32_t persistent_shared_bytes(PersistentShape s, uint32_t batch) {
  return persistent_sums_offset(s, batch) +
         2 * PERSISTENT_WARPS * persistent_rows(s) * batch * (uint32_t)sizeof(float);
}

#endif /* DEEPBENCH_CUDA_KERNELS_PERSISTENT_H_ */
