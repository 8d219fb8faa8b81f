// The operands of a sparse product in memory, and its result for verification.
#pragma once

#include <cstdint>
#include <memory>

#include "copies.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"
#include "operand.hpp"
#include "ops/sparse_gemm/csr.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

// What a library does with C: it adds to C or overwrites it.
enum class SparseOutput { kInPlace, kOverwrite };

// The bytes that one call accesses, with the expected number of non-zeros.
uint64_t touched_bytes(const SparseGemm& gemm);
// The bytes that prepare() allocates, without the library's workspace.
uint64_t needed_bytes(const SparseGemm& gemm, SparseOutput output, const CopyPlan& plan);

// All values are float, because the libraries support no other type.
class SparseOperands final : public Operands {
 public:
  SparseOperands(const SparseGemm& gemm, SparseOutput output, const CopyPlan& plan, Inputs inputs,
                 uint64_t seed);

  const SparseGemm& gemm() const { return gemm_; }
  uint64_t copies() const { return copies_; }
  Csr a(uint64_t copy) const { return a_.at(copy); }
  const float* b(uint64_t copy) const;
  float* c(uint64_t copy) const { return reinterpret_cast<float*>(c_.at(copy)); }

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison_outputs() override;  // Poisons C, or restores it for the in-place form.
  deepbench_scan scan_output(uint64_t copy) const override;
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read_output(uint64_t copy, const uint64_t* indices, size_t count,
                   double* values) const override;

 private:
  uint64_t outputs() const { return uint64_t(gemm_.m) * uint64_t(gemm_.n); }
  uint64_t outputs_of_empty_rows() const;

  const SparseGemm gemm_;
  const SparseOutput output_;
  const uint64_t copies_;
  CsrCopies a_;
  std::shared_ptr<const Buffer> shared_b_;  // Set when there is one copy, and null otherwise.
  Copies b_, c_;
  std::shared_ptr<const Buffer> initial_c_;  // kInPlace: the values that restore() writes.
  uint64_t empty_outputs_ = 0;  // The number of outputs to which the product adds nothing.
};

}  // namespace deepbench::cpu
