// Prepares and verifies one problem of a chain.
#include "deepbench/run/chain/linked_problem.hpp"

#include <algorithm>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

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

uint64_t LinkedProblem::chains_between_restores() const {
  if (!kernel_->in_place()) return 0;
  const auto calls = static_cast<uint64_t>(kernel_->facts().integer("restore_every", 1));
  return std::max<uint64_t>(1, calls / calls_of_last_copy());
}

// In place, several calls have added to one copy, whose sum is checked if it is known.
void LinkedProblem::verify(const std::string& when) {
  const uint64_t calls = calls_of_last_copy();
  const bool is_sum = kernel_->in_place() && calls > 1;
  if (is_sum && !verifier_->adds_up()) return;
  const bool good =
      is_sum ? verifier_->check_sum(*kernel_, calls, when) : verifier_->check(*kernel_, when);
  if (!good) throw RowFailure(Status::kIncorrect, named(verifier_->result().reason));
}

}  // namespace deepbench
