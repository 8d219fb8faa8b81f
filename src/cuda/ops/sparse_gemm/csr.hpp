// A sparse A in CSR, made on the device from the hash that says which of its elements are not zero.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "kernels/sparsity_pattern.h"
#include "operand.hpp"

namespace deepbench::cuda {

// Of one copy: of a matrix of rows x columns, as the problem stores A.
struct Csr {
  int64_t rows = 0, columns = 0, nonzeros = 0;
  void* offsets = nullptr;  // int32_t, rows + 1
  void* indices = nullptr;  // int32_t, columns of the non-zeros, ascending within a row
  void* values = nullptr;
};

class CsrCopies {
 public:
  // Throws plugin::Error, unsupported, where there are more non-zeros than 32-bit offsets can
  // count.
  CsrCopies(const SparseGemm& gemm, uint64_t copies, Inputs inputs, uint64_t seed,
            const Stream& stream);

  Csr at(uint64_t copy) const;
  int64_t nonzeros() const { return nonzeros_; }
  // Rows of op(A) without a non-zero: to what they would add to, nothing is added.
  int64_t empty_rows() const { return empty_rows_; }

 private:
  int64_t rows_, columns_;
  int64_t nonzeros_ = 0, empty_rows_ = 0;
  Copies offsets_, indices_, values_;
};

// A dense A of the problem's precision, with lines (its columns or its rows) `stride` elements
// apart: what the pattern has as zero becomes zero.
struct DenseLines {
  void* data;
  Lines lines;
  uint64_t stride;
};
void clear_zeros(const DenseLines& dense_a, const SparseGemm& gemm, uint64_t seed,
                 const Stream& stream);

// Host memory for rows + 1 offsets of rows with so many non-zeros. Throws as CsrCopies does.
std::vector<int32_t> csr_offsets(const std::vector<uint32_t>& counts);

// How the kernels see the stored A: by rows, or by columns.
Lines rows_of_a(const SparseGemm& gemm);
Lines columns_of_a(const SparseGemm& gemm);

}  // namespace deepbench::cuda
