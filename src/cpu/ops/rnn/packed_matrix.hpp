// A right factor that is multiplied with few rows again and again, as a recurrent layer's weights
// are: packed once, for this processor's vectors. Libraries pack it in every call, which with 32
// rows costs as much as the product.
#pragma once

#include <cstdint>

#include "buffer.hpp"

namespace deepbench::cpu {

class PackedMatrix {
 public:
  PackedMatrix() = default;
  // B of k x n; element (row, column) is at data[row * row_step + column * column_step].
  PackedMatrix(const float* data, int64_t k, int64_t n, int64_t row_step, int64_t column_step);

  static uint64_t needed_bytes(int64_t k, int64_t n);

  // C = A B, or C + A B, in `worker`'s share of the columns; A has m rows.
  void multiply(int64_t m, const float* a, int64_t a_step, float* c, int64_t c_step, bool adds,
                size_t worker, size_t workers) const;

 private:
  int64_t k_ = 0, n_ = 0;
  Buffer elements_;  // [panel][row][column of it]
};

}  // namespace deepbench::cpu
