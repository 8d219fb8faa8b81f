// The sparse functions of MKL that the backend calls, with deepbench's declarations of them; dlsym
// fills the table.
#pragma once

#include <cstdint>

#include "ops/gemm/mkl_api.hpp"

namespace deepbench::cpu::mkl {

// The constants of mkl_spblas.h.
inline constexpr int kOk = 0, kZeroBased = 0, kGeneral = 20, kSparseNoTranspose = 10,
                     kSparseTranspose = 11, kLayoutByRows = 101, kLayoutByColumns = 102;

struct MatrixKind {  // The C structure matrix_descr.
  int type = kGeneral, fill_mode = 0, diagonal = 0;
};

using SparseMatrix = struct SparseMatrixOpaque*;

struct SparseApi {
  // Throws plugin::Error (unsupported) if MKL or one of the functions is missing.
  static const SparseApi& instance();

  int (*create_csr)(SparseMatrix*, int base, int rows, int columns, int* begins, int* ends,
                    int* indices, float* values) = nullptr;
  int (*destroy)(SparseMatrix) = nullptr;
  int (*set_mv_hint)(SparseMatrix, int operation, MatrixKind, int calls) = nullptr;
  int (*set_mm_hint)(SparseMatrix, int operation, MatrixKind, int layout, int columns,
                     int calls) = nullptr;
  int (*optimize)(SparseMatrix) = nullptr;
  int (*mv)(int operation, float alpha, SparseMatrix, MatrixKind, const float* x, float beta,
            float* y) = nullptr;
  int (*mm)(int operation, float alpha, SparseMatrix, MatrixKind, int layout, const float* b,
            int columns, int ldb, float beta, float* c, int ldc) = nullptr;
};

}  // namespace deepbench::cpu::mkl
