// Prepares a sparse product.
#include "ops/sparse_gemm/prepare_sparse.hpp"

#include "buffer.hpp"
#include "deepbench/plugin.hpp"
#include "operand_cache.hpp"
#include "ops/sparse_gemm/dense_baseline.hpp"

namespace deepbench::cpu {
namespace {

// The memory of a product. A matrix that does not fit in memory with its zeros has no dense
// baseline.
struct Needs {
  CopyPlan copies;
  DensePlan dense;
  uint64_t bytes = 0;  // Includes the baseline's.
};

Needs needs_of(const SparseGemm& gemm, SparseOutput output, const plugin::Options& options,
               uint64_t workspace_bytes) {
  Needs needs;
  needs.copies = plan_copies(touched_bytes(gemm), options);
  needs.bytes = saturating_add(needed_bytes(gemm, output, needs.copies), workspace_bytes);
  if (!options.baseline) return needs;
  needs.dense = plan_dense(gemm, needs.copies, options);
  const uint64_t both = saturating_add(needs.bytes, needs.dense.bytes);
  if (needs.dense.is_enabled() && both > uint64_t(available_memory().available_bytes))
    needs.dense = {{}, 0, "no dense baseline: the matrix with its zeros does not fit in memory"};
  if (needs.dense.is_enabled()) needs.bytes = both;
  return needs;
}

}  // namespace

void require_float(const SparseGemm& gemm, const std::string& what) {
  if (gemm.precision.precision != Precision::kFloat)
    plugin::unsupported(what + " supports float, but not " + std::string(gemm.precision.name));
}

uint64_t sparse_bytes(const SparseGemm& gemm, SparseOutput output, const plugin::Options& options,
                      uint64_t workspace_bytes) {
  return needs_of(gemm, output, options, workspace_bytes).bytes;
}

std::unique_ptr<plugin::Kernel> prepare_sparse(const SparseGemm& gemm, SparseOutput output,
                                               const plugin::Options& options,
                                               uint64_t workspace_bytes, int threads,
                                               const MakeSparseCall& make_call) {
  const Needs needs = needs_of(gemm, output, options, workspace_bytes);
  require_memory_for_operands(needs.bytes);
  auto operands = std::make_unique<SparseOperands>(gemm, output, needs.copies,
                                                   parse_inputs(options.inputs), options.seed);
  if (options.baseline) operands->measure_dense(needs.dense, options);
  auto call = make_call(*operands);
  return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), needs.copies,
                                          threads);
}

}  // namespace deepbench::cpu
