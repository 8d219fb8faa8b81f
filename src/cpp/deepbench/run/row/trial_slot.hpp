// Holds the one trial of a row that is in memory. It outlives the row, so that the row is written
// before its kernel is destroyed: a backend that crashes in destroy() then loses no measurement.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include "deepbench/run/row/trial.hpp"

namespace deepbench {

// The result of measuring a plan, and how it ended.
struct Attempt {
  // The complete measurement, or what was measured before the failure; only the candidate and the
  // regime if preparing failed.
  Measurement measurement;
  std::exception_ptr failure;  // nullptr: there is none

  void rethrow_failure() const {
    if (failure) std::rethrow_exception(failure);
  }
};

struct TrialSlot {
  std::unique_ptr<Trial> trial;  // nullptr: none is prepared

  // Frees the previous trial, then prepares, verifies and measures the plan.
  Attempt measure(const RowContext& context, const Plan& plan, Stages& stages);
  // Frees the previous trial, then makes a single call without warm-up and verification.
  Attempt run_once(const RowContext& context, const Plan& plan, Stages& stages);

 private:
  Attempt run(const RowContext& context, const Plan& plan, Stages& stages,
              const std::function<void(Measurement&)>& body);
};

}  // namespace deepbench
