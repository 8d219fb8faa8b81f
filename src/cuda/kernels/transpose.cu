// Transposes a matrix of elements of one, two or four bytes at nearly the bandwidth of memory.
#include "strided_layout.h"

namespace {

// A tile is TRANSPOSE_WORDS words of 4 bytes wide and has as many rows as it has columns. Threads
// read and write whole words and transpose squares of kPerWord x kPerWord elements in registers.
template <class Element>
struct TransposeTile {
  static constexpr uint32_t kPerWord = 4 / sizeof(Element);
  static constexpr uint32_t kTile = TRANSPOSE_WORDS * kPerWord;
};

// Swaps element j of words[i] with element i of words[j].
__device__ void transpose_words_in_registers(uint32_t (&)[1]) {}
__device__ void transpose_words_in_registers(uint32_t (&words)[2]) {
  const uint32_t low = __byte_perm(words[0], words[1], 0x5410);
  words[1] = __byte_perm(words[0], words[1], 0x7632);
  words[0] = low;
}
__device__ void transpose_words_in_registers(uint32_t (&words)[4]) {
  const uint32_t low01 = __byte_perm(words[0], words[1], 0x5140);
  const uint32_t high01 = __byte_perm(words[0], words[1], 0x7362);
  const uint32_t low23 = __byte_perm(words[2], words[3], 0x5140);
  const uint32_t high23 = __byte_perm(words[2], words[3], 0x7362);
  words[0] = __byte_perm(low01, low23, 0x5410);
  words[1] = __byte_perm(low01, low23, 0x7632);
  words[2] = __byte_perm(high01, high23, 0x5410);
  words[3] = __byte_perm(high01, high23, 0x7632);
}

// Loads the elements of a column from `row` on, up to one word and not beyond the last row.
template <class Element>
__device__ uint32_t load_word(const Element* column, uint64_t row, uint64_t rows, bool aligned) {
  constexpr uint32_t kPerWord = TransposeTile<Element>::kPerWord;
  if (aligned && row + kPerWord <= rows) return *reinterpret_cast<const uint32_t*>(column + row);
  uint32_t word = 0;
  for (uint32_t i = 0; i < kPerWord; ++i)
    if (row + i < rows) word |= uint32_t(column[row + i]) << (8 * sizeof(Element) * i);
  return word;
}

template <class Element>
__device__ void store_word(Element* column, uint64_t row, uint64_t rows, bool aligned,
                           uint32_t word) {
  constexpr uint32_t kPerWord = TransposeTile<Element>::kPerWord;
  if (aligned && row + kPerWord <= rows) {
    *reinterpret_cast<uint32_t*>(column + row) = word;
    return;
  }
  for (uint32_t i = 0; i < kPerWord; ++i)
    if (row + i < rows) column[row + i] = Element(word >> (8 * sizeof(Element) * i));
}

__device__ bool is_aligned(const void* data, uint64_t stride_bytes) {
  return ((reinterpret_cast<unsigned long long>(data) | stride_bytes) & 3) == 0;
}

// The words of the tile are permuted so that no two threads of a warp access the same bank, neither
// when they store columns nor when they load rows.
template <class Element>
__device__ void transpose(const Element* from, Element* to, uint64_t rows, uint64_t columns,
                          uint64_t from_stride, uint64_t to_stride) {
  constexpr uint32_t kPerWord = TransposeTile<Element>::kPerWord,
                     kTile = TransposeTile<Element>::kTile;
  __shared__ uint32_t tile[kTile][TRANSPOSE_WORDS];
  const uint32_t x = threadIdx.x;
  const uint64_t tiles_down = (rows + kTile - 1) / kTile;
  const uint64_t first_row = blockIdx.x % tiles_down * kTile;
  const uint64_t first_column = blockIdx.x / tiles_down * kTile;
  const bool aligned_from = is_aligned(from, from_stride * sizeof(Element));
  const bool aligned_to = is_aligned(to, to_stride * sizeof(Element));

#pragma unroll
  for (uint32_t step = 0; step < TRANSPOSE_WORDS; step += OPERAND_THREADS / TRANSPOSE_WORDS) {
    const uint32_t y = threadIdx.y + step;
    uint32_t words[kPerWord];
#pragma unroll
    for (uint32_t i = 0; i < kPerWord; ++i) {
      const uint64_t column = first_column + y * kPerWord + i;
      words[i] = column < columns ? load_word(from + column * from_stride, first_row + x * kPerWord,
                                              rows, aligned_from)
                                  : 0;
    }
    transpose_words_in_registers(words);
#pragma unroll
    for (uint32_t i = 0; i < kPerWord; ++i) tile[x * kPerWord + i][y ^ x] = words[i];
  }
  __syncthreads();
  for (uint32_t y = threadIdx.y; y < kTile && first_row + y < rows; y += blockDim.y)
    store_word(to + (first_row + y) * to_stride, first_column + x * kPerWord, columns, aligned_to,
               tile[y][x ^ (y / kPerWord)]);
}

}  // namespace

// to(j, i) = from(i, j), where `rows` and `columns` are those of `from`. The launch has one block
// of (TRANSPOSE_WORDS, OPERAND_THREADS / TRANSPOSE_WORDS) threads per tile.
extern "C" __global__ void transpose_bytes(const void* from, void* to, uint64_t rows,
                                           uint64_t columns, uint64_t from_stride,
                                           uint64_t to_stride) {
  transpose(static_cast<const uint8_t*>(from), static_cast<uint8_t*>(to), rows, columns,
            from_stride, to_stride);
}

extern "C" __global__ void transpose_halves(const void* from, void* to, uint64_t rows,
                                            uint64_t columns, uint64_t from_stride,
                                            uint64_t to_stride) {
  transpose(static_cast<const uint16_t*>(from), static_cast<uint16_t*>(to), rows, columns,
            from_stride, to_stride);
}

extern "C" __global__ void transpose_words(const void* from, void* to, uint64_t rows,
                                           uint64_t columns, uint64_t from_stride,
                                           uint64_t to_stride) {
  transpose(static_cast<const uint32_t*>(from), static_cast<uint32_t*>(to), rows, columns,
            from_stride, to_stride);
}
