/* The arguments of skinny_mma.cu, a product of 16-bit types with few columns, and its division
 * among blocks. The same for the host's and the device's compiler. */
#ifndef DEEPBENCH_CUDA_KERNELS_SKINNY_MMA_H_
#define DEEPBENCH_CUDA_KERNELS_SKINNY_MMA_H_

#ifdef __CUDACC_RTC__
#include "fill.h" /* defines the integer types */
#else
#include <stdint.h>
#endif

#define SKINNY_MMA_MAX_COLUMNS 32
#define SKINNY_MMA_STEP 32 /* elements of k that a warp multiplies at once */
#define SKINNY_MMA_DEPTH 3 /* steps that a warp has in flight; more are not faster */
#define SKINNY_MMA_GRAIN 8 /* m and k must be multiples of it */
#define SKINNY_MMA_TILE_ROWS 16
#define SKINNY_MMA_TILE_COLUMNS 8

/* D = A B + C. A is k x m or m x k, B is k x n, C and D are m x n; columns are contiguous. Part p
 * of k consists of part_steps steps from p * part_steps on. */
typedef struct SkinnyMmaProduct {
  const uint16_t* a;
  const uint16_t* b;
  const uint16_t* c;
  uint16_t* d;
  uint32_t m, n, k, part_steps;
} SkinnyMmaProduct;

/* A cluster of `split` blocks handles some rows of A. All its blocks handle the same rows, and each
 * warp a different part of k. */
typedef struct SkinnyMmaShape {
  uint32_t columns; /* columns of B, in tiles */
  uint32_t rows;    /* rows of A, in tiles */
  uint32_t warps, split;
} SkinnyMmaShape;

#ifdef __CUDACC__
#define SKINNY_MMA_INLINE __host__ __device__ constexpr
#else
#define SKINNY_MMA_INLINE constexpr
#endif

/* The number of tiles of the result, which have 16 rows and 8 columns. */
SKINNY_MMA_INLINE uint32_t skinny_mma_tiles(SkinnyMmaShape s) { return s.rows * s.columns; }
SKINNY_MMA_INLINE uint32_t skinny_mma_parts(SkinnyMmaShape s) { return s.warps * s.split; }
/* The number of tiles whose partial sums one block adds. */
SKINNY_MMA_INLINE uint32_t skinny_mma_tiles_per_block(SkinnyMmaShape s) {
  return (skinny_mma_tiles(s) + s.split - 1) / s.split;
}
/* The shared memory for the partial sums of those tiles. */
SKINNY_MMA_INLINE uint32_t skinny_mma_shared_bytes(SkinnyMmaShape s) {
  return skinny_mma_tiles_per_block(s) * skinny_mma_parts(s) * SKINNY_MMA_TILE_ROWS *
         SKINNY_MMA_TILE_COLUMNS * (uint32_t)sizeof(float);
}

#endif /* DEEPBENCH_CUDA_KERNELS_SKINNY_MMA_H_ */
