// A right factor that is multiplied repeatedly with few rows, such as a recurrent layer's weights.
// It is packed once for this processor's vectors. Libraries pack it in every call, which costs as
// much as a product of 32 rows.
#pragma once

#include <cstdint>

#include "buffer.hpp"

namespace deepbench::cpu {

class PackedMatrix {
 public:
  PackedMatrix() = default;
  // The k x n matrix B; element (row, column) is at data[row * row_step + column * column_step].
  PackedMatrix(const float* data, int64_t k, int64_t n, int64_t row_step, int64_t column_step);

  static uint64_t needed_bytes(int64_t k, int64_t n);

  // Computes C = A B, or C + A B, for the columns of this worker. A has m rows.
  void multiply(int64_t m, const float* a, int64_t a_step, float* c, int64_t c_step, bool adds,
                size_t worker, size_t workers) const;

 private:
  int64_t k_ = 0, n_ = 0;
  Buffer elements_;  // [panel][row][column of the panel]
};

}  // namespace deepbench::cpu
