// How oneDNN computes a matrix product: the primitive and the layouts of each candidate. oneDNN is
// row-major: the problem's column-major C = op(A) op(B) is C^T = op(B)^T op(A)^T for oneDNN. Its
// source is therefore B, its weights are A, and transposition only changes strides.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/ops/gemm/gemm.hpp"
#include "onednn/api.hpp"
#include "onednn/row_plans.hpp"
#include "ops/gemm/operands.hpp"

namespace deepbench::cpu::onednn {

struct GemmCandidate {
  bool sgemm = false;  // "sgemm": dnnl_sgemm
  // "matmul:packed": A is stored in the library's layout before the first call.
  bool packed = false;
  bool separate = false;  // "matmul:add": C and D are different matrices.
  // "matmul:gemm:jit": an implementation other than the default, by its name.
  std::string implementation{};
};

struct GemmPlan {
  GemmStorage storage;
  GemmCandidate candidate;
  PrimitiveDesc primitive;     // Empty for sgemm.
  PrimitiveDesc alternatives;  // Of the default: oneDNN's list of further implementations.
  MemoryDesc plain_a;          // For `packed`: A in the problem's layout.
  uint64_t scratchpad_bytes = 0;

  const_dnnl_memory_desc_t description(dnnl_query_t which) const;
};

// Throws plugin::Error: unsupported with oneDNN's reason, or invalid for an unknown candidate.
std::shared_ptr<const GemmPlan> plan_gemm(const Gemm& gemm, const std::string& candidate,
                                          RowPlans<GemmPlan>& row);

// The ids that plan_gemm accepts for this problem. The first one is oneDNN's default.
std::vector<std::string> gemm_candidates(const Gemm& gemm, RowPlans<GemmPlan>& row);

}  // namespace deepbench::cpu::onednn
