// One problem of a chain: its kernel, and the verification of its outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/problem.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {

struct VerificationMemory {
  double host_bytes = 0, device_bytes = 0;
};

class LinkedProblem {
 public:
  // Plans the problem, which a chain calls `calls` times. Allocates nothing. Throws RowFailure.
  LinkedProblem(const Backend& backend, const Problem& problem, const RunOptions& options,
                uint64_t calls);

  uint64_t memory_bytes() const { return plan_.memory_bytes(); }
  // The memory that verification takes beside the kernel's: of the host, and of the device for a
  // reference of the backend.
  VerificationMemory verification_memory() const;

  // Allocates the operands and, if the options ask for verification, computes the expected outputs.
  // Throws RowFailure, also if the calls of one chain overflow an operand in place.
  void prepare(uint64_t verification_seed);
  const Kernel& kernel() const { return *kernel_; }
  bool in_place() const { return kernel_->in_place(); }
  // The chains after which operands in place have to be restored; 0: never.
  uint64_t chains_between_restores() const;

  bool verifies() const { return verifier_.has_value(); }
  const Verification& verification() const { return verifier_->result(); }
  // Poisons the outputs, or restores them where calls are in place.
  void reset_outputs() { Verifier::reset_outputs(*kernel_); }
  // Records whether a reset had its effect, which the next verification reports.
  void check_reset() { verifier_->check_reset(*kernel_); }
  // Verifies the outputs of one call since reset_outputs() or, out of place, of any number. Throws
  // RowFailure (kIncorrect), whose message names the problem.
  void verify(const std::string& when);
  // In place: verifies the sum of the calls of so many chains, if it is known.
  void verify_sum(uint64_t chains, const std::string& when);
  // Verifies a batch of so many chains since reset_outputs(), at a fraction of the cost.
  void verify_briefly(uint64_t number, uint64_t chains);
  // Rewrites the operands with random values. Returns false if the kernel cannot do that.
  bool refill(uint64_t seed) { return kernel_->refill("uniform", seed); }
  // A few of the compared elements.
  std::vector<double> read_some() { return verifier_->read_some(*kernel_); }
  // Throws RowFailure (kIncorrect) for a finding that is not one of a single verification.
  void fail(const std::string& reason) { require_correct(verifier_->fail(reason)); }
  // Reads from the outputs as much as is needed to see that they are there.
  void read_briefly() { verifier_->read_briefly(*kernel_); }
  // What the calls of one chain read and write.
  double bytes_of_calls() const;

 private:
  void require_correct(bool good) const;
  std::string named(const std::string& reason) const { return problem_.str() + ": " + reason; }
  // The calls of one chain that take the copy which verification reads.
  uint64_t calls_of_last_copy() const;
  // The calls of so many chains after which the last copy holds as many sums as it does then.
  uint64_t calls_of(uint64_t chains) const;
  uint64_t calls_in_range() const;  // in place: before a restore is due

  const Backend& backend_;
  const Problem problem_;
  const RunOptions options_;
  const uint64_t calls_;
  const BackendPlan plan_;
  std::optional<Kernel> kernel_;
  std::optional<Verifier> verifier_;
};

}  // namespace deepbench
