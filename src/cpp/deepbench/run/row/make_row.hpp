// Makes a row: admits it, measures a trial, selects among trials, measures the baselines, and
// assesses the result against the ceilings. assemble() turns the results into a row, also where the
// row ends early.
#pragma once

#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/row_steps.hpp"
#include "deepbench/run/row/trial_slot.hpp"

namespace deepbench {

// Makes the row of `steps.request` on this process, or together with all ranks of context.group,
// and leaves the result of each step in `steps`. Throws RowFailure where the row ends early.
void make_row(const RowContext& context, TrialSlot& slot, RowSteps& steps);

// The steps from which run/fleet/fleet_row.cpp composes the row of a fleet.
Plan admit_or_throw(const RowRequest& request, const RowContext& context);  // throws a refusal
void measure_first(const RowContext& context, const Plan& plan, TrialSlot& slot, RowSteps& steps);
Sensors read_sensors(const RowContext& context, int device);
Attributes observed_clocks(const Samples& samples);
ExtraMetrics measure_energy(const RowContext& context, const Plan& plan, Trial& trial);
void measure_baselines(const RowContext& context, const Plan& plan, TrialSlot& slot,
                       RowSteps& steps);
// With `plan`, a row above its ceilings is measured again. nullptr: only its ceilings are.
void assess_row(const RowContext& context, const RowRequest& request, const Plan* plan,
                TrialSlot& slot, RowSteps& steps);

}  // namespace deepbench
