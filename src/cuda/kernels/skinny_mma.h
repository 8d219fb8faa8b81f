/* A product of 16-bit types with few columns, as skinny_mma.cu takes it, and how its blocks divide
 * it: the same for the host's compiler and the device's. */
#ifndef DEEPBENCH_CUDA_KERNELS_SKINNY_MMA_H_
#define DEEPBENCH_CUDA_KERNELS_SKINNY_MMA_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* names the integers */
#else
#include <stdint.h>
#endif

#define SKINNY_MMA_MAX_COLUMNS 32
#define SKINNY_MMA_STEP 32 /* numbers of k that a warp multiplies at once */
#define SKINNY_MMA_DEPTH 3 /* steps that a warp has under way: more were no faster */
#define SKINNY_MMA_GRAIN 8 /* m and k are multiples of it */
#define SKINNY_MMA_TILE_ROWS 16
#define SKINNY_MMA_TILE_COLUMNS 8

/* D = A B + C. A is k x m or m x k, B k x n, C and D m x n, each column contiguous. Part p of k is
 * the steps from p * part_steps on, part_steps of them. */
typedef struct SkinnyMmaProduct {
  const uint16_t* a;
  const uint16_t* b;
  const uint16_t* c;
  uint16_t* d;
  uint32_t m, n, k, part_steps;
} SkinnyMmaProduct;

/* A cluster of `split` blocks takes rows of A: all of the same, each warp another part of k. */
typedef struct SkinnyMmaShape {
  uint32_t columns; /* of B, in tiles */
  uint32_t rows;    /* in tiles */
  uint32_t warps, split;
} SkinnyMmaShape;

#ifdef __CUDACC__
#define SKINNY_MMA_INLINE __host__ __device__ constexpr
#else
#define SKINNY_MMA_INLINE constexpr
#endif

/* Of the result: 16 rows by 8 columns. */
SKINNY_MMA_INLINE uint32_t skinny_mma_tiles(SkinnyMmaShape s) { return s.rows * s.columns; }
SKINNY_MMA_INLINE uint32_t skinny_mma_parts(SkinnyMmaShape s) { return s.warps * s.split; }
/* Tiles whose parts a block adds up. */
SKINNY_MMA_INLINE uint32_t skinny_mma_tiles_per_block(SkinnyMmaShape s) {
  return (skinny_mma_tiles(s) + s.split - 1) / s.split;
}
/* For their parts. */
SKINNY_MMA_INLINE uint32_t skinny_mma_shared_bytes(SkinnyMmaShape s) {
  return skinny_mma_tiles_per_block(s) * skinny_mma_parts(s) * SKINNY_MMA_TILE_ROWS *
         SKINNY_MMA_TILE_COLUMNS * (uint32_t)sizeof(float);
}

#endif /* DEEPBENCH_CUDA_KERNELS_SKINNY_MMA_H_ */
