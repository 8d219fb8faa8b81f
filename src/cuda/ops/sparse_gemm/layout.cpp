// Size computations that saturate instead of overflowing.
#include "ops/sparse_gemm/layout.hpp"

#include <algorithm>
#include <cmath>

#include "buffer.hpp"

namespace deepbench::cuda {
namespace {

uint64_t dense_matrix_bytes(int64_t rows, int64_t columns, deepbench_type type) {
  return saturating_multiply(saturating_multiply(uint64_t(rows), uint64_t(columns)),
                             uint64_t(size_of(type)));
}

}  // namespace

double SparseLayout::max_nonzeros() const {
  const double mean = gemm.nnz();
  const double upper = mean + 6 * std::sqrt(mean * gemm.sparsity) + 6;
  return std::min(upper, double(gemm.m) * double(gemm.k));
}

uint64_t SparseLayout::a_bytes(double nonzeros) const {
  const uint64_t element = sizeof(int32_t) + uint64_t(size_of(gemm.precision.a));
  return saturating_add(uint64_t(nonzeros) * element,
                        uint64_t(gemm.rows_a() + 1) * sizeof(int32_t));
}
uint64_t SparseLayout::b_bytes() const {
  return dense_matrix_bytes(gemm.k, gemm.n, gemm.precision.b);
}
uint64_t SparseLayout::c_bytes() const {
  return dense_matrix_bytes(gemm.m, gemm.n, gemm.precision.c);
}

uint64_t SparseLayout::touched_bytes() const {
  uint64_t bytes = saturating_add(a_bytes(gemm.nnz()), saturating_add(b_bytes(), c_bytes()));
  if (convert_b) bytes = saturating_add(bytes, b_bytes());
  if (convert_c) bytes = saturating_add(bytes, c_bytes());
  return bytes;
}

uint64_t SparseLayout::needed_bytes(const plugin::CopyPlan& plan, uint64_t workspace_bytes,
                                    uint64_t workspaces) const {
  uint64_t bytes = plan.flush_bytes;
  const auto add = [&](uint64_t more) { bytes = saturating_add(bytes, more); };
  const auto nonzeros = uint64_t(max_nonzeros());
  add(Copies::needed_bytes(uint64_t(gemm.rows_a() + 1) * sizeof(int32_t), plan.copies));
  add(Copies::needed_bytes(nonzeros * sizeof(int32_t), plan.copies));
  add(Copies::needed_bytes(nonzeros * uint64_t(size_of(gemm.precision.a)), plan.copies));
  // Counts that the creation of A needs.
  add(uint64_t(std::max(gemm.m, gemm.k)) * sizeof(uint32_t));
  add(Copies::needed_bytes(b_bytes(), plan.copies));
  add(Copies::needed_bytes(c_bytes(), plan.copies));
  add(c_bytes());  // the first values
  if (convert_b) add(b_bytes());
  if (convert_c) add(c_bytes());
  add(Copies::needed_bytes(workspace_bytes, workspaces));
  return bytes;
}

}  // namespace deepbench::cuda
