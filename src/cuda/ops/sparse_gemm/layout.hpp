// How a sparse product is handed to a library: in which order B and C are stored, what is converted
// within the call, and how much memory that takes. Knows no library and no device.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench::cuda {

struct SparseLayout {
  SparseGemm gemm;  // the problem
  // Stored the other way round than the problem has it: neither B nor C is constant in its
  // application, so that every call converts them as part of its time.
  bool convert_b = false, convert_c = false;

  bool b_by_rows() const { return gemm.row_major != convert_b; }
  bool c_by_rows() const { return gemm.row_major != convert_c; }

  // B as stored.
  int64_t rows_b() const { return gemm.trans_b ? gemm.n : gemm.k; }
  int64_t columns_b() const { return gemm.trans_b ? gemm.k : gemm.n; }

  // Non-zeros that the matrix will hardly have more of: six deviations above their mean.
  double max_nonzeros() const;

  uint64_t a_bytes(double nonzeros) const;  // of one copy, in CSR
  uint64_t b_bytes() const;
  uint64_t c_bytes() const;
  uint64_t touched_bytes() const;  // by one call, the workspace aside
  // By the operands and what verification needs of them, one workspace for each of so many copies.
  uint64_t needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes,
                        uint64_t workspaces) const;
};

}  // namespace deepbench::cuda
