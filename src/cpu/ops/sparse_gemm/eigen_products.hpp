// Eigen's products of a sparse and a dense matrix, with one table for each vector unit. Only
// eigen_loops.hpp includes Eigen.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// The part of C += op(A) op(B) that one thread computes: `rows` CSR rows with all columns
// (trans_a=n), or `columns` columns of B and C with all rows (trans_a=t).
struct EigenPart {
  // Rows and columns of the stored A, and columns of B and C.
  int64_t rows = 0, inner = 0, columns = 0;
  int64_t nnz = 0;
  const int32_t* offsets = nullptr;
  const int32_t* indices = nullptr;
  const float* values = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  // The distance between contiguous columns, or between contiguous rows.
  int64_t b_stride = 0, c_stride = 0;
};

struct EigenProducts {
  const char* unit;  // "avx2"
  // The indices are trans_a, whether B is row-major, and whether C is row-major.
  void (*multiply[2][2][2])(const EigenPart& part);
  // Copies rows x columns elements from column-major `from` to row-major `to`.
  void (*transpose)(const float* from, int64_t from_stride, float* to, int64_t to_stride,
                    int64_t rows, int64_t columns);
  // Like multiply with a row-major B and a column-major C. `scratch` has kTileRows * columns
  // elements and holds rows of C.
  void (*multiply_tiles)(const EigenPart& part, float* scratch);
  static constexpr int64_t kTileRows = 64;
};

// The table for the widest vector unit that this processor has and that Eigen was compiled for, or
// nullptr.
const EigenProducts* eigen_products();

#if defined(__x86_64__)
extern const EigenProducts kEigenAvx2, kEigenAvx512;
#endif

}  // namespace deepbench::cpu
