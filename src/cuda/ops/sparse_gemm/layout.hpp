// The form in which a sparse product is passed to a library: the order of B and C, the conversions
// within a call, and the memory that this takes. Depends on no library and no device.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/backend/rotation.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench::cuda {

struct SparseLayout {
  SparseGemm gemm;
  // Whether B or C is stored in the other order than the problem's. Neither is constant in its
  // application, so every call converts them as part of its time.
  bool convert_b = false, convert_c = false;

  bool b_by_rows() const { return gemm.row_major != convert_b; }
  bool c_by_rows() const { return gemm.row_major != convert_c; }

  // The dimensions of B as stored.
  int64_t rows_b() const { return gemm.trans_b ? gemm.n : gemm.k; }
  int64_t columns_b() const { return gemm.trans_b ? gemm.k : gemm.n; }

  // The largest number of nonzeros to expect: six standard deviations above the mean.
  double max_nonzeros() const;

  uint64_t a_bytes(double nonzeros) const;  // one copy in CSR
  uint64_t b_bytes() const;
  uint64_t c_bytes() const;
  uint64_t touched_bytes() const;  // bytes that one call touches, without the workspace
  // The memory of the operands, of the data that verification needs, and of `workspaces`
  // workspaces.
  uint64_t needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes,
                        uint64_t workspaces) const;
};

}  // namespace deepbench::cuda
