// Lookups of rows in a table, and the table's gradient. The threads of a block are as many along x
// as a row has vectors, up to 256, and take different rows along y. `Vector` is the widest type
// that divides a row: 16 bytes where the row permits.
#include "embedding.h"
#include "fill.h"
#include "lookup.h"
#include "numbers.h"

namespace {

// ---- vectors of a row ---------------------------------------------------------------------------

template <class Number, class Vector>
union Chunk {
  static constexpr int kElements = int(sizeof(Vector) / sizeof(typename Number::Stored));
  Vector vector;
  typename Number::Stored words[kElements];
};

// ---- additions to the table's gradient ----------------------------------------------------------

// Adds to memory that other threads add to. Devices before compute capability 9.0 have no addition
// of vectors.
__device__ inline void add_to(float* to, float value) {
#ifdef __CUDACC__
  atomicAdd(to, value);
#else
  *to += value;
#endif
}

__device__ inline void add_four_to(float* to, const float* values) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900 && \
    (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 1))
  asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to),
               "f"(values[0]), "f"(values[1]), "f"(values[2]), "f"(values[3])
               : "memory");
#else
  for (int i = 0; i < 4; ++i) add_to(to + i, values[i]);
#endif
}

template <int kCount>
__device__ inline void add_all_to(float* to, const float* values) {
  if (kCount % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) add_four_to(to + i, values + i);
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) add_to(to + i, values[i]);
  }
}

// The first row that this thread takes. The next ones follow at a distance of blockDim.y.
template <int kRows>
__device__ inline uint32_t first_row() {
  return blockIdx.x * (blockDim.y * kRows) + threadIdx.y;
}

template <class Vector>
__device__ inline Vector* vector_of_row(void* rows, uint64_t row, uint32_t vectors, uint32_t at) {
  return static_cast<Vector*>(rows) + row * vectors + at;
}

}  // namespace

// Copies rows, where every output row has one lookup.
template <class Vector>
__global__ void __launch_bounds__(256) copy_rows(EmbeddingLookups of) {
  constexpr int kRows = EMBEDDING_ROWS_AT_ONCE;
  const uint32_t first = first_row<kRows>();
  uint32_t from[kRows];
  Vector vectors[kRows];
#pragma unroll
  for (int k = 0; k < kRows; ++k) {
    const uint32_t row = first + k * blockDim.y;
    from[k] = row < of.count ? uint32_t(of.indices[row]) : 0;
  }
  for (uint32_t at = threadIdx.x; at < of.vectors; at += blockDim.x) {
#pragma unroll
    for (int k = 0; k < kRows; ++k)
      vectors[k] = *vector_of_row<const Vector>(of.table, from[k], of.vectors, at);
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const uint32_t row = first + k * blockDim.y;
      if (row < of.count) *vector_of_row<Vector>(of.rows, row, of.vectors, at) = vectors[k];
    }
  }
}

// Each thread adds up the same vector of all rows that an entry looks up, in their order.
template <class Number, class Vector>
__global__ void __launch_bounds__(256) sum_rows(EmbeddingLookups of) {
  using Row = Chunk<Number, Vector>;
  constexpr int kLoads = EMBEDDING_LOADS_IN_FLIGHT;
  const uint32_t row = first_row<1>();
  if (row >= of.count) return;
  const int32_t* const indices = of.indices + uint64_t(row) * of.lookups;
  for (uint32_t at = threadIdx.x; at < of.vectors; at += blockDim.x) {
    float sums[Row::kElements] = {};
    for (uint32_t i = 0; i < of.lookups; i += kLoads) {
      Row terms[kLoads];
#pragma unroll
      for (int k = 0; k < kLoads; ++k)
        if (i + k < of.lookups)
          terms[k].vector =
              *vector_of_row<const Vector>(of.table, uint32_t(indices[i + k]), of.vectors, at);
#pragma unroll
      for (int k = 0; k < kLoads; ++k)
        if (i + k < of.lookups)
#pragma unroll
          for (int j = 0; j < Row::kElements; ++j) sums[j] += Number::value_of(terms[k].words[j]);
    }
    Row out;
#pragma unroll
    for (int j = 0; j < Row::kElements; ++j) out.words[j] = Number::code_of(sums[j]);
    *vector_of_row<Vector>(of.rows, row, of.vectors, at) = out.vector;
  }
}

// Adds the gradient of its output row to the table row of every lookup, by atomic additions in
// float.
template <class Number, class Vector>
__global__ void __launch_bounds__(256) add_gradients(EmbeddingLookups of) {
  using Row = Chunk<Number, Vector>;
  constexpr int kRows = EMBEDDING_ROWS_AT_ONCE;
  auto* const table = static_cast<float*>(of.table);
  const uint32_t first = first_row<kRows>(), all = of.count * of.lookups;
  for (uint32_t at = threadIdx.x; at < of.vectors; at += blockDim.x) {
    Row gradients[kRows];
    uint32_t to[kRows];
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      const uint32_t lookup = first + k * blockDim.y;
      if (lookup >= all) continue;
      to[k] = uint32_t(of.indices[lookup]);
      gradients[k].vector =
          *vector_of_row<const Vector>(of.rows, lookup / of.lookups, of.vectors, at);
    }
#pragma unroll
    for (int k = 0; k < kRows; ++k) {
      if (first + k * blockDim.y >= all) continue;
      float values[Row::kElements];
#pragma unroll
      for (int j = 0; j < Row::kElements; ++j) values[j] = Number::value_of(gradients[k].words[j]);
      add_all_to<Row::kElements>(table + (uint64_t(to[k]) * of.vectors + at) * Row::kElements,
                                 values);
    }
  }
}

// Fills the numbers of the rows that lookups request.
extern "C" __global__ void fill_lookups(int32_t* indices, uint64_t count, uint64_t seed,
                                        uint32_t stream, uint32_t rows, uint32_t octaves) {
  const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    indices[i] = int32_t(deepbench_lookup(seed, stream, rows, octaves, i));
}
