// Tensor cores emulated on the host: the positions of the elements of a tile, of columns and of
// sums in mma.m16n8k16. Must be included after emulated.hpp.
#pragma once

#include <cstdint>

namespace deepbench::cuda_test {

// The operands of one thread, with two 16-bit elements in each word.
struct MmaOperands {
  uint4 tile;
  uint2 columns;
};

// Adds the products to the sums of one lane. `of(lane)` returns the operands of each lane of the
// warp, `wide(word)` converts the lower half of a word.
template <class Of, class Wide>
void multiply_for(uint32_t lane, const Of& of, const Wide& wide, float (&sums)[4]) {
  const auto of_tile = [&](uint32_t row, uint32_t column) {
    const uint4 tile = of(row % 8 * 4 + column % 8 / 2).tile;
    const uint32_t word = column < 8 ? (row < 8 ? tile.x : tile.y) : (row < 8 ? tile.z : tile.w);
    return wide(word >> (16 * (column % 2)));
  };
  const auto of_columns = [&](uint32_t row, uint32_t column) {
    const uint2 columns = of(column * 4 + row % 8 / 2).columns;
    return wide((row < 8 ? columns.x : columns.y) >> (16 * (row % 2)));
  };
  const uint32_t row = lane / 4, column = lane % 4 * 2;
  for (uint32_t e = 0; e < 4; ++e)
    for (uint32_t l = 0; l < 16; ++l)
      sums[e] += of_tile(row + e / 2 * 8, l) * of_columns(l, column + e % 2);
}

}  // namespace deepbench::cuda_test
