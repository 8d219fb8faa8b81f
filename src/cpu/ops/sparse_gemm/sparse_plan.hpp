// The plan of a sparse product, which all libraries share: checks, memory and operands.
#pragma once

#include <memory>
#include <string>

#include "implementation.hpp"
#include "operand_cache.hpp"
#include "ops/sparse_gemm/operands.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

// Throws plugin::Error (unsupported) unless the precision is float. `what` is the subject of the
// message.
inline void require_float(const SparseGemm& gemm, const std::string& what) {
  if (gemm.precision.precision != Precision::kFloat)
    plugin::unsupported(what + " supports float, but not " + std::string(gemm.precision.name));
}

// The plan of a sparse product in a library, except how it computes. `Library` has static
// functions:
//   library()                   its facts
//   name()                      its name and version, for rows
//   candidates(gemm)            of a supported problem, the default first; throws unsupported
//   algorithm(choice, candidate)   for rows
//   kOutput                     where the product goes
//   CandidateSettings(gemm, candidate, threads)   what the library plans, with workspace_bytes(),
//     which the row shows, library_bytes(), which the call takes beside the operands, and
//     make_call(operands, threads)
//   threads(gemm, requested)    how many of the requested threads it can use
template <class Library>
class SparsePlan final : public plugin::TypedPlan<SparsePlan<Library>, SparseGemm> {
  using Base = plugin::TypedPlan<SparsePlan<Library>, SparseGemm>;

 public:
  static LibraryFacts library() { return Library::library(); }
  static SparseGemm parse(const plugin::Problem& problem) { return sparse_gemm_problem(problem); }

  SparsePlan(const SparseGemm& gemm, const plugin::Options& options, const std::string& candidate)
      : Base(gemm, options),
        candidate_(checked_candidate(gemm, candidate)),
        threads_(Library::threads(gemm, thread_count(options.threads))),
        choice_(gemm, candidate_, threads_),
        copies_(plan_copies(touched_bytes(gemm), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_plan(Library::name(), Library::algorithm(choice_, candidate_), memory_bytes(),
                  choice_.workspace_bytes(), sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    return Library::candidates(this->problem_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    const plugin::Options& options = this->options_;
    auto operands = std::make_unique<SparseOperands>(this->problem_, Library::kOutput, copies_,
                                                     parse_inputs(options.inputs), options.seed);
    auto call = choice_.make_call(*operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  static std::string checked_candidate(const SparseGemm& gemm, const std::string& candidate) {
    const std::vector<std::string> ids = Library::candidates(gemm);
    if (candidate.empty()) return ids.front();
    require_candidate(Library::name(), ids, candidate);
    return candidate;
  }

  uint64_t memory_bytes() const {
    return saturating_add(needed_bytes(this->problem_, Library::kOutput, copies_),
                          choice_.library_bytes());
  }

  const std::string candidate_;
  const int threads_;
  const typename Library::CandidateSettings choice_;
  const CopyPlan copies_;
};

}  // namespace deepbench::cpu
