// Allocates, fills and checks a sparse product's operands.
#include "ops/sparse_gemm/operands.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "deepbench/backend/output_checks.hpp"
#include "deepbench/plugin.hpp"
#include "operand_cache.hpp"
#include "ops/sparse_gemm/matrix_projection.hpp"

namespace deepbench::cpu {
namespace {

uint64_t float_bytes(int64_t rows, int64_t columns) {
  return saturating_multiply(saturating_multiply(uint64_t(rows), uint64_t(columns)), sizeof(float));
}

}  // namespace

uint64_t touched_bytes(const SparseGemm& gemm) {
  const uint64_t dense = saturating_add(float_bytes(gemm.k, gemm.n), float_bytes(gemm.m, gemm.n));
  return saturating_add(CsrCopies::bytes(gemm, gemm.nnz()), dense);
}

uint64_t needed_bytes(const SparseGemm& gemm, SparseOutput output, const CopyPlan& plan) {
  const uint64_t a = CsrCopies::bytes(gemm, gemm.nnz());
  uint64_t bytes = Copies::needed_bytes(a, plan.copies);
  bytes = saturating_add(bytes, a / 2);  // The indices during the construction of A.
  bytes = saturating_add(bytes, Copies::needed_bytes(float_bytes(gemm.k, gemm.n), plan.copies));
  bytes = saturating_add(bytes, Copies::needed_bytes(float_bytes(gemm.m, gemm.n), plan.copies));
  if (output == SparseOutput::kInPlace) bytes = saturating_add(bytes, float_bytes(gemm.m, gemm.n));
  return saturating_add(bytes, plan.flush_bytes);
}

SparseOperands::SparseOperands(const SparseGemm& gemm, SparseOutput output, const CopyPlan& plan,
                               Inputs inputs, uint64_t seed)
    : gemm_(gemm), output_(output), copies_(plan.copies), a_(gemm, plan.copies, inputs, seed) {
  const auto b_elements = uint64_t(gemm.k) * uint64_t(gemm.n);
  OperandCache& cache = OperandCache::instance();
  if (copies_ == 1) {
    shared_b_ = cache.get(DEEPBENCH_F32, b_elements, inputs, seed, SparseGemm::kStreamB);
  } else {
    b_ = Copies(b_elements * sizeof(float), copies_);
    fill(b_.at(0), DEEPBENCH_F32, b_elements, inputs, seed, SparseGemm::kStreamB);
    b_.replicate();
  }
  c_ = Copies(outputs() * sizeof(float), copies_);
  if (output == SparseOutput::kInPlace) {
    initial_c_ = cache.get(DEEPBENCH_F32, outputs(), inputs, seed, SparseGemm::kStreamC);
    empty_outputs_ = outputs_of_empty_rows();
  }
  poison_outputs();
}

const float* SparseOperands::b(uint64_t copy) const {
  return reinterpret_cast<const float*>(shared_b_ ? shared_b_->data() : b_.at(copy));
}

uint64_t SparseOperands::outputs_of_empty_rows() const {
  const Csr csr = a_.at(0);
  std::vector<bool> used(size_t(gemm_.m), false);
  for (int64_t row = 0; row < csr.rows; ++row) {
    if (gemm_.trans_a)
      for (int32_t i = csr.offsets[row]; i < csr.offsets[row + 1]; ++i)
        used[size_t(csr.indices[i])] = true;
    else
      used[size_t(row)] = csr.offsets[row] != csr.offsets[row + 1];
  }
  return uint64_t(std::count(used.begin(), used.end(), false)) * uint64_t(gemm_.n);
}

void SparseOperands::describe(plugin::Sink& sink) const {
  constexpr int64_t kManyCalls = 1 << 20;  // The range of float permits that many additions.
  sink.integer("nnz", a_.at(0).nnz());
  if (output_ == SparseOutput::kInPlace) {
    sink.integer("in_place", 1);
    sink.integer("restore_every", kManyCalls);
  }
}

void SparseOperands::restore() {
  if (initial_c_) c_.overwrite(initial_c_->data());
}

void SparseOperands::poison_outputs() {
  if (initial_c_) return restore();
  for (uint64_t copy = 0; copy < copies_; ++copy) cpu::poison(c(copy), DEEPBENCH_F32, outputs());
}

// Rows without a non-zero correctly leave C unchanged.
deepbench_scan SparseOperands::scan_output(uint64_t copy) const {
  deepbench_scan scan =
      cpu::scan(c(copy), DEEPBENCH_F32, outputs(), initial_c_ ? initial_c_->data() : nullptr);
  scan.untouched -= std::min<uint64_t>(scan.untouched, empty_outputs_);
  return scan;
}

void SparseOperands::project_output(uint64_t copy, uint64_t rows, uint64_t seed,
                                    double* sums) const {
  if (rows != uint64_t(gemm_.m))
    plugin::invalid("project_output: the output has " + std::to_string(gemm_.m) + " rows, not " +
                    std::to_string(rows));
  cpu::project({c(copy), gemm_.m, gemm_.n, !gemm_.row_major}, seed, sums);
}

void SparseOperands::read_output(uint64_t copy, const uint64_t* indices, size_t count,
                                 double* values) const {
  for (size_t at = 0; at < count; ++at) {
    plugin::require_element(indices[at], outputs());
    const auto i = int64_t(indices[at]) % gemm_.m, j = int64_t(indices[at]) / gemm_.m;
    values[at] = double(c(copy)[gemm_.index_c(i, j)]);
  }
}

}  // namespace deepbench::cpu
