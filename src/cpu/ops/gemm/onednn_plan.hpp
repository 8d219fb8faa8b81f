// A matrix product as oneDNN plans it: which primitive for which candidate, in which layouts.
// oneDNN is row-major; our column-major C = op(A) op(B) is its C^T = op(B)^T op(A)^T, so its source
// is our B, its weights are our A, and transposition is a matter of strides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/gemm/gemm.hpp"
#include "onednn/api.hpp"
#include "ops/gemm/operands.hpp"

namespace deepbench::cpu::onednn {

struct GemmCandidate {
  bool sgemm = false;     // "sgemm": dnnl_sgemm
  bool packed = false;    // "matmul:packed": A stored in the library's own layout beforehand
  bool separate = false;  // "matmul:add": C and D are different matrices
  std::string
      implementation{};  // "matmul:gemm:jit": another than the library's own choice, by name
};

struct GemmPlan {
  GemmStorage storage;
  GemmCandidate candidate;
  PrimitiveDesc primitive;  // none for sgemm
  MemoryDesc plain_a;       // packed: A's layout in the problem
  uint64_t scratchpad_bytes = 0;

  const_dnnl_memory_desc_t description(dnnl_query_t which) const;
};

// Throws plugin::Error: unsupported with oneDNN's reason, or invalid for an unknown candidate.
GemmPlan plan_gemm(const Gemm& gemm, const std::string& candidate);

// Ids that plan_gemm takes for this problem, oneDNN's own choice first.
std::vector<std::string> gemm_candidates(const Gemm& gemm);

}  // namespace deepbench::cpu::onednn
