// Eigen's products of a sparse with a dense matrix, for one vector unit each. What is common to
// all; Eigen itself is seen by eigen_loops.hpp alone.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// A part of C += op(A) op(B) that one thread computes: of `rows` CSR rows (trans_a=n), or of
// `columns` columns of B and C (trans_a=t), everywhere else whole.
struct EigenPart {
  int64_t rows = 0, inner = 0, columns = 0;  // of A as stored: rows and columns; of B and C
  int64_t nnz = 0;
  const int32_t* offsets = nullptr;
  const int32_t* indices = nullptr;
  const float* values = nullptr;
  const float* b = nullptr;
  float* c = nullptr;
  int64_t b_stride = 0, c_stride = 0;  // between columns, or rows, that lie each in one piece
};

struct EigenProducts {
  const char* unit;  // "avx2"
  // By trans_a, by whether B lies by rows, whether C does.
  void (*multiply[2][2][2])(const EigenPart& part);
  // to, by rows, = from, by columns: rows x columns, all or some of the rows.
  void (*transpose)(const float* from, int64_t from_stride, float* to, int64_t to_stride,
                    int64_t rows, int64_t columns);
  // As multiply with B by rows and C by columns; `scratch`, of kTileRows * columns, holds rows of
  // C.
  void (*multiply_tiles)(const EigenPart& part, float* scratch);
  static constexpr int64_t kTileRows = 64;
};

// For the widest vector unit that this processor has and Eigen was compiled for, or nullptr.
const EigenProducts* eigen_products();

#if defined(__x86_64__)
extern const EigenProducts kEigenAvx2, kEigenAvx512;
#endif

}  // namespace deepbench::cpu
