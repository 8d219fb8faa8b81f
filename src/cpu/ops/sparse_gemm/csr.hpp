// A sparse A in CSR. A hash decides which of its elements are non-zero.
#pragma once

#include <cstdint>
#include <vector>

#include "copies.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "operand.hpp"

namespace deepbench::cpu {

// A view of one copy of A as the problem stores it.
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
  // Throws plugin::Error (unsupported) if the number of non-zeros exceeds the range of 32-bit
  // offsets.
  CsrCopies(const SparseGemm& gemm, uint64_t copies, Inputs inputs, uint64_t seed);

  Csr at(uint64_t copy) const;
  static uint64_t bytes(const SparseGemm& gemm, double nnz);  // The size of one copy.

 private:
  int64_t rows_ = 0, columns_ = 0, nnz_ = 0;
  Copies offsets_, indices_, values_;
};

// Divides the rows into `parts` with nearly equal cost and returns where part `part` begins.
int64_t first_row_of_part(const Csr& csr, size_t part, size_t parts);

}  // namespace deepbench::cpu
