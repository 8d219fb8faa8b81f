// One problem of a chain: its kernel, and the verification of its outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "deepbench/core/problem.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {

class LinkedProblem {
 public:
  // Plans the problem, which a chain calls `calls` times. Allocates nothing. Throws RowFailure.
  LinkedProblem(const Backend& backend, const Problem& problem, const RunOptions& options,
                uint64_t calls);

  uint64_t memory_bytes() const { return plan_.memory_bytes(); }

  // Allocates the operands and, if the options ask for verification, computes the expected outputs.
  void prepare(uint64_t verification_seed);
  const Kernel& kernel() const { return *kernel_; }
  // The calls of the whole chain after which operands in place have to be restored; 0: never.
  uint64_t chains_between_restores() const;

  bool verifies() const { return verifier_.has_value(); }
  // Poisons the outputs, or restores them where calls are in place.
  void reset_outputs() { Verifier::reset_outputs(*kernel_); }
  // Verifies the outputs of one call of the chain since reset_outputs(). Throws RowFailure
  // (kIncorrect), whose message names the problem.
  void verify(const std::string& when);

 private:
  std::string named(const std::string& reason) const { return problem_.str() + ": " + reason; }
  // The calls of one chain that take the copy which verification reads.
  uint64_t calls_of_last_copy() const;

  const Backend& backend_;
  const Problem problem_;
  const RunOptions options_;
  const uint64_t calls_;
  const BackendPlan plan_;
  std::optional<Kernel> kernel_;
  std::optional<Verifier> verifier_;
};

}  // namespace deepbench
