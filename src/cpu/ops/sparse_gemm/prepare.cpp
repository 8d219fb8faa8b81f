// Preparing a sparse product.
#include "ops/sparse_gemm/prepare.hpp"

#include "deepbench/plugin.hpp"
#include "limits.hpp"
#include "operand_store.hpp"

namespace deepbench::cpu {

void require_float(const SparseGemm& gemm, const std::string& what) {
  if (gemm.precision.precision != Precision::kFloat)
    plugin::unsupported(what + " is in float; there is none in " +
                        std::string(gemm.precision.name));
}

namespace {

// A matrix that only fits while its zeros are not stored has no dense baseline.
bool has_room_for_dense(const SparseGemm& gemm, uint64_t operands) {
  return saturating_add(operands, dense_bytes(gemm)) <= uint64_t(read_memory().available_bytes);
}

}  // namespace

uint64_t sparse_bytes(const SparseGemm& gemm, SparseOutput output, const plugin::Options& options) {
  const uint64_t operands = needed_bytes(gemm, output, plan_copies(touched_bytes(gemm), options));
  const bool dense = options.baseline && has_room_for_dense(gemm, operands);
  return dense ? saturating_add(operands, dense_bytes(gemm)) : operands;
}

std::unique_ptr<plugin::Kernel> prepare_sparse(const SparseGemm& gemm, SparseOutput output,
                                               const plugin::Options& options, uint64_t bytes,
                                               int threads, const MakeSparseCall& make_call) {
  const CopyPlan copies = plan_copies(touched_bytes(gemm), options);
  const bool dense =
      options.baseline && has_room_for_dense(gemm, needed_bytes(gemm, output, copies));
  require_memory_for_operands(bytes);
  auto operands = std::make_unique<SparseOperands>(gemm, output, copies,
                                                   inputs_named(options.inputs), options.seed);
  if (dense)
    operands->measure_dense(options);
  else if (options.baseline)
    operands->leave_out_dense();
  auto call = make_call(*operands);
  return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies, threads);
}

}  // namespace deepbench::cpu
