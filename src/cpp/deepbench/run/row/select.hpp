// Step 3 of a row, for algorithm=best and exhaustive: chooses between the library's default and its
// other candidates. A candidate is selected only if it is faster in the interleaved comparison, its
// result is correct, and its full measurement is no slower than the default's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/run/row/trial_slot.hpp"
#include "deepbench/run/row/tried_candidate.hpp"

namespace deepbench {

struct Selection {
  Measurement measurement;  // of the selected candidate
  double gain = 0;          // over the default, from the interleaved comparison; 0: default kept
  // The candidates that were tried, of those that the search listed.
  std::vector<TriedCandidate> tried;
  int64_t listed = 1;
  double budget_ns = 0, searched_ns = 0;  // host time granted to the searches, and spent
  double default_ns = 0;
  std::vector<double> default_samples_ns;
  std::string default_name;       // the algorithm of the library's default
  std::string default_candidate;  // its id; "": unknown
  std::vector<std::string> notes;
  // The attempt of a candidate whose failure ends the row, such as a lost device. Its trial is in
  // the slot if it was prepared.
  std::optional<Attempt> failed;
};

// `default_measurement` is the full measurement of the library's default, whose trial is in `slot`
// and whose time is in `stages`. Leaves the selected candidate's trial in `slot` if a later step
// needs it; `slot` is empty if the default could not be prepared again. Throws RowFailure for a
// failure that is not of a candidate's full measurement, which `failed` reports.
DEEPBENCH_API Selection select(const RowContext& context, const Plan& plan,
                               const Measurement& default_measurement, TrialSlot& slot,
                               Stages& stages);

}  // namespace deepbench
