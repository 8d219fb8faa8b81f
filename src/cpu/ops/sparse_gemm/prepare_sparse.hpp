// The preparation of a sparse product, which all libraries share: checks, operands and the dense
// baseline.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ops/sparse_gemm/operands.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu {

// Throws plugin::Error (unsupported) unless the precision is float. `what` is the subject of the
// message.
void require_float(const SparseGemm& gemm, const std::string& what);

// The bytes of the operands, the library's workspace and, if it fits, the dense baseline.
uint64_t sparse_bytes(const SparseGemm& gemm, SparseOutput output, const plugin::Options& options,
                      uint64_t workspace_bytes);

using MakeSparseCall = std::function<std::unique_ptr<LibraryCall>(SparseOperands& operands)>;
std::unique_ptr<plugin::Kernel> prepare_sparse(const SparseGemm& gemm, SparseOutput output,
                                               const plugin::Options& options,
                                               uint64_t workspace_bytes, int threads,
                                               const MakeSparseCall& make_call);

}  // namespace deepbench::cpu
