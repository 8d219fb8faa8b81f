// A sparse A in CSR, made from the hash that says which of its elements are not zero.
#pragma once

#include <cstdint>
#include <vector>

#include "copies.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "operand.hpp"

namespace deepbench::cpu {

// Views of one copy: of a matrix of rows() x columns, as the problem stores A.
struct Csr {
  int64_t rows = 0, columns = 0;
  const int32_t* offsets = nullptr;  // rows + 1
  const int32_t* indices = nullptr;  // columns of the non-zeros, ascending within a row
  const float* values = nullptr;

  int64_t nnz() const { return offsets[rows]; }
};

class CsrCopies {
 public:
  CsrCopies() = default;
  // Throws plugin::Error, unsupported, where there are more non-zeros than 32-bit offsets can
  // count.
  CsrCopies(const SparseGemm& gemm, uint64_t copies, Inputs inputs, uint64_t seed);

  Csr at(uint64_t copy) const;
  static uint64_t bytes(const SparseGemm& gemm, double nnz);  // of one copy

 private:
  int64_t rows_ = 0, columns_ = 0, nnz_ = 0;
  Copies offsets_, indices_, values_;
};

// Rows of nearly equal numbers of non-zeros: where part `part` of `parts` begins.
int64_t balanced_begin(const Csr& csr, size_t part, size_t parts);

}  // namespace deepbench::cpu
