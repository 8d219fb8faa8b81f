// Fills, converts, restores and reads the operands of a sparse product.
#include "ops/sparse_gemm/operands.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "deepbench/ops/gemm/gemm.hpp"

namespace deepbench::cuda {
namespace {

constexpr int64_t kMaxCalls = 1 << 20;  // within the range of float

// Indexes the operand's elements in the order of memory.
Matrix as_array(void* data, deepbench_type type, uint64_t elements) {
  return {data, type, elements, 1, 1, elements};
}

// A matrix stored by columns, or stored by rows, which equals its transpose stored by columns.
Matrix by_columns(void* data, deepbench_type type, int64_t rows, int64_t columns, bool by_rows) {
  if (by_rows) std::swap(rows, columns);
  return {data, type, uint64_t(rows), uint64_t(columns), 1, uint64_t(rows)};
}

}  // namespace

SparseOperands::SparseOperands(const SparseLayout& layout, const plugin::CopyPlan& plan,
                               Inputs inputs, uint64_t seed, Stream& stream)
    : MatrixOperands(stream),
      layout_(layout),
      inputs_(inputs),
      copies_(plan.copies),
      a_(layout.gemm, plan.copies, inputs, seed, stream),
      b_(layout.b_bytes(), plan.copies),
      c_(layout.c_bytes(), plan.copies),
      initial_c_(layout.c_bytes()),
      converted_b_(layout.convert_b ? layout.b_bytes() : 0),
      converted_c_(layout.convert_c ? layout.c_bytes() : 0) {
  const SparseGemm& gemm = layout.gemm;
  const auto b_elements = uint64_t(gemm.k) * uint64_t(gemm.n);
  fill(as_array(b_.at(0), gemm.precision.b, b_elements), inputs, seed, SparseGemm::kStreamB,
       stream);
  b_.replicate(stream);
  fill(as_array(initial_c_.data(), gemm.precision.c, outputs()), inputs, seed, SparseGemm::kStreamC,
       stream);
  restore();
  stream.synchronize();
}

void SparseOperands::convert_before(uint64_t copy) const {
  const SparseGemm& gemm = layout_.gemm;
  const int64_t rows = layout_.rows_b(), columns = layout_.columns_b();
  if (layout_.convert_b)
    transpose(by_columns(b_.at(copy), gemm.precision.b, rows, columns, gemm.row_major),
              by_columns(converted_b_.data(), gemm.precision.b, rows, columns, !gemm.row_major),
              stream_);
  if (layout_.convert_c)
    transpose(by_columns(c_.at(copy), gemm.precision.c, gemm.m, gemm.n, gemm.row_major),
              by_columns(converted_c_.data(), gemm.precision.c, gemm.m, gemm.n, !gemm.row_major),
              stream_);
}

void SparseOperands::convert_after(uint64_t copy) const {
  const SparseGemm& gemm = layout_.gemm;
  if (layout_.convert_c)
    transpose(by_columns(converted_c_.data(), gemm.precision.c, gemm.m, gemm.n, !gemm.row_major),
              by_columns(c_.at(copy), gemm.precision.c, gemm.m, gemm.n, gemm.row_major), stream_);
}

void SparseOperands::describe(plugin::Sink& sink) const {
  sink.integer("nnz", a_.nonzeros());
  sink.integer("in_place", 1);
  sink.integer("restore_every", calls_before_overflow());
  if (!layout_.convert_b && !layout_.convert_c) return;
  const char* const what = !layout_.convert_c   ? "B first"
                           : !layout_.convert_b ? "C before the product and back after it"
                                                : "B and C before the product and C back after it";
  sink.text("note.conversion",
            std::string("every call transposes ") + what + ", which is included in its time");
}

// The result equals that for a dense product whose k is an upper estimate of the nonzeros in a row.
int64_t SparseOperands::calls_before_overflow() const {
  const SparseGemm& gemm = layout_.gemm;
  const double mean = double(gemm.k) * (1 - gemm.sparsity);
  Gemm dense;
  dense.precision = gemm.precision;
  dense.k = std::min(gemm.k, int64_t(mean + 6 * std::sqrt(mean)) + 6);
  return deepbench::calls_before_overflow(dense, inputs_ == Inputs::kUniform, kMaxCalls);
}

void SparseOperands::restore() { c_.overwrite(initial_c_.data(), stream_); }

// Output elements are ordered as i + j*m, regardless of the order in memory.
Matrix SparseOperands::output(uint64_t copy) const {
  const SparseGemm& gemm = layout_.gemm;
  const auto m = uint64_t(gemm.m), n = uint64_t(gemm.n);
  return {c_.at(copy), gemm.precision.c, m, n, gemm.row_major ? n : 1, gemm.row_major ? 1 : m};
}

// Rows of op(A) without a nonzero leave their rows of C unchanged, which is not an error.
deepbench_scan SparseOperands::scan_output(uint64_t copy) const {
  deepbench_scan scan = MatrixOperands::scan_output(copy);
  const uint64_t unchanged = uint64_t(a_.empty_rows()) * uint64_t(layout_.gemm.n);
  scan.untouched -= std::min<uint64_t>(scan.untouched, unchanged);
  return scan;
}

}  // namespace deepbench::cuda
