// Checks problems, computes memory and prepares kernels for the BLAS libraries.
#include "ops/gemm/blas.hpp"

#include <algorithm>
#include <limits>

#include "operand_cache.hpp"
#include "topology.hpp"

namespace deepbench::cpu::blas {

GemmStorage BlasGemm::storage(const plugin::Problem& problem, const plugin::Options& options) {
  const Gemm gemm = gemm_problem(problem);
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  if (std::max({gemm.m, gemm.n, gemm.k}) > kMax)
    plugin::unsupported("this library's dimensions are 32-bit integers");
  const auto ids = candidates_of(gemm);
  const std::string id = options.candidate.empty() ? ids.front() : options.candidate;
  if (std::find(ids.begin(), ids.end(), id) == ids.end())
    reject_candidate(options.library.empty() ? "the library" : options.library, id);
  return storage_of(gemm, id);
}

void BlasGemm::supports(const plugin::Problem& problem, const plugin::Options& options) {
  storage(problem, options);
}

uint64_t BlasGemm::memory_needed(const plugin::Problem& problem, const plugin::Options& options) {
  const GemmStorage stored = storage(problem, options);
  return stored.needed_bytes(plan_copies(stored.touched_bytes(), options));
}

std::vector<std::string> BlasGemm::candidates(const plugin::Problem& problem,
                                              const plugin::Options&) {
  return candidates_of(gemm_problem(problem));
}

std::unique_ptr<plugin::Kernel> BlasGemm::prepare(const plugin::Problem& problem,
                                                  const plugin::Options& options) {
  const GemmStorage stored = storage(problem, options);
  const CopyPlan copies = plan_copies(stored.touched_bytes(), options);
  require_memory_for_operands(stored.needed_bytes(copies));
  const int threads = thread_count(options.threads);
  const std::string candidate =
      options.candidate.empty() ? candidates_of(stored.gemm).front() : options.candidate;
  auto operands =
      std::make_unique<GemmOperands>(stored, copies, parse_inputs(options.inputs), options.seed);
  auto call = make_call(*operands, candidate, threads);
  return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies, threads);
}

}  // namespace deepbench::cpu::blas
