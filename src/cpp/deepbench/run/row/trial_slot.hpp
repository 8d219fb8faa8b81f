// Holds the one trial of a row that is in memory. It outlives the row, so that the row is written
// before its kernel is destroyed: a backend that crashes in destroy() then loses no measurement.
#pragma once

#include <memory>
#include <optional>

#include "deepbench/run/row/trial.hpp"

namespace deepbench {

struct TrialSlot {
  std::unique_ptr<Trial> trial;
  // The partial result of the last trial if it failed; only the candidate if preparing failed.
  std::optional<Measurement> unfinished;

  // Frees the previous trial, then prepares, verifies and measures the plan. Throws RowFailure and
  // leaves the partial result in `unfinished`.
  Measurement measure(const RowContext& context, const Plan& plan, Stages& stages);
  // The same for a single call without warm-up and verification.
  Measurement run_once(const RowContext& context, const Plan& plan, Stages& stages);

 private:
  void prepare(const RowContext& context, const Plan& plan, Stages& stages);
};

}  // namespace deepbench
