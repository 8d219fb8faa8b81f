// What every library's sparse product is prepared by: checks, operands, the dense baseline.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ops/sparse_gemm/operands.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

// Throws plugin::Error, unsupported, for all other precisions; `what` has none of them.
void require_float(const SparseGemm& gemm, const std::string& what);

// Operands, what the library takes of its own, and the baseline where there is room for it.
uint64_t sparse_bytes(const SparseGemm& gemm, SparseOutput output, const plugin::Options& options,
                      uint64_t workspace_bytes);

using MakeSparseCall = std::function<std::unique_ptr<LibraryCall>(SparseOperands& operands)>;
std::unique_ptr<plugin::Kernel> prepare_sparse(const SparseGemm& gemm, SparseOutput output,
                                               const plugin::Options& options,
                                               uint64_t workspace_bytes, int threads,
                                               const MakeSparseCall& make_call);

}  // namespace deepbench::cpu
