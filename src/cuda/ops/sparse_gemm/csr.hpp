// A sparse A in CSR, created on the device from the hash that determines which of its elements are
// nonzero.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "kernels/sparsity_pattern.h"
#include "operand.hpp"

namespace deepbench::cuda {

// One copy of a matrix of rows x columns, as the problem stores A.
struct Csr {
  int64_t rows = 0, columns = 0, nonzeros = 0;
  void* offsets = nullptr;  // int32_t, rows + 1 of them
  void* indices = nullptr;  // int32_t, the columns of the nonzeros, ascending within a row
  void* values = nullptr;
};

class CsrCopies {
 public:
  // Throws plugin::Error (unsupported) if there are more nonzeros than 32-bit offsets can count.
  CsrCopies(const SparseGemm& gemm, uint64_t copies, Inputs inputs, uint64_t seed,
            const Stream& stream);

  Csr at(uint64_t copy) const;
  int64_t nonzeros() const { return nonzeros_; }
  // The number of rows of op(A) without a nonzero: the product adds nothing to their rows of C.
  int64_t empty_rows() const { return empty_rows_; }

 private:
  int64_t rows_, columns_;
  int64_t nonzeros_ = 0, empty_rows_ = 0;
  Copies offsets_, indices_, values_;
};

// The rows + 1 offsets for the given numbers of nonzeros per row, in host memory. Throws like
// CsrCopies.
std::vector<int32_t> csr_offsets(const std::vector<uint32_t>& counts);

// The stored A as the kernels traverse it: by rows or by columns.
Lines rows_of_a(const SparseGemm& gemm);
Lines columns_of_a(const SparseGemm& gemm);

}  // namespace deepbench::cuda
