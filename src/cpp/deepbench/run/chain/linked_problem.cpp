// Prepares and verifies one problem of a chain.
#include "deepbench/run/chain/linked_problem.hpp"

#include <algorithm>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

// Calls between restores, unless the backend states a number.
constexpr int64_t kCallsInRange = 1 << 20;

// The options with as many copies of the operands as the problem has calls, if they overflow no
// cache before. A problem that reads only what the calls before it have written has one copy, which
// the caches keep like the maps of a model.
Attributes options_of_call(const Problem& problem, const RunOptions& options, uint64_t calls) {
  Attributes values = options.for_plugin();
  if (!problem.operation().has_stored_operands(problem)) return values;
  values.set("cache", std::string("rotated"));
  values.set("copies", static_cast<int64_t>(calls));
  return values;
}

}  // namespace

LinkedProblem::LinkedProblem(const Backend& backend, const Problem& problem,
                             const RunOptions& options, uint64_t calls)
    : backend_(backend), problem_(problem), options_(options), calls_(calls), plan_([&] {
        try {
          return backend.plan(problem, options_of_call(problem, options, calls));
        } catch (const RowFailure& failure) {
          throw RowFailure(failure.status(), named(failure.what()));
        }
      }()) {}

void LinkedProblem::prepare(uint64_t verification_seed) {
  try {
    kernel_.emplace(plan_.prepare());
    if (in_place() && calls_of_last_copy() > calls_in_range())
      throw RowFailure(Status::kUnsupported, std::to_string(calls_of_last_copy()) +
                                                 " calls in place overflow its output");
    if (!options_.should_verify(problem_.operation())) return;
    verifier_.emplace(problem_, kernel_->facts(), static_cast<uint64_t>(options_.seed),
                      options_.inputs, verification_seed, [&] {
                        Kernel reference =
                            backend_.plan(problem_, options_.for_reference()).prepare();
                        reference.adopt_forward_states(*kernel_);
                        return reference;
                      });
  } catch (const RowFailure& failure) {
    throw RowFailure(failure.status(), named(failure.what()));
  }
}

uint64_t LinkedProblem::calls_of_last_copy() const {
  const uint64_t copies = kernel_->copies();
  return (calls_ + copies - 1) / copies;
}

// Every chain begins with the same copy, so that calls do not divide equally among the copies.
uint64_t LinkedProblem::calls_of(uint64_t chains) const {
  return chains * calls_of_last_copy() * kernel_->copies();
}

uint64_t LinkedProblem::calls_in_range() const {
  return static_cast<uint64_t>(
      std::max<int64_t>(1, kernel_->facts().integer("restore_every", kCallsInRange)));
}

uint64_t LinkedProblem::chains_between_restores() const {
  return in_place() ? calls_in_range() / calls_of_last_copy() : 0;
}

VerificationMemory LinkedProblem::verification_memory() const {
  const Operation& operation = problem_.operation();
  if (!options_.should_verify(operation)) return {};
  VerificationMemory memory;
  memory.host_bytes = operation.verification_bytes(problem_);
  if (operation.reference_source(problem_) == ReferenceSource::kReferenceKernel)
    memory.device_bytes = double(backend_.plan(problem_, options_.for_reference()).memory_bytes());
  return memory;
}

void LinkedProblem::require_correct(bool good) const {
  if (!good) throw RowFailure(Status::kIncorrect, named(verifier_->result().reason));
}

void LinkedProblem::verify(const std::string& when) {
  require_correct(verifier_->check(*kernel_, when));
}

void LinkedProblem::verify_briefly(uint64_t number, uint64_t chains) {
  require_correct(verifier_->check_briefly(*kernel_, number, calls_of(chains)));
}

double LinkedProblem::bytes_of_calls() const {
  return double(calls_) * problem_.operation().work(problem_).bytes;
}

void LinkedProblem::verify_sum(uint64_t chains, const std::string& when) {
  if (verifier_->adds_up()) require_correct(verifier_->check_sum(*kernel_, calls_of(chains), when));
}

}  // namespace deepbench
