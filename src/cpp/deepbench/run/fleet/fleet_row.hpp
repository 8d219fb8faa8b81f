// A row of a fleet: every rank makes it on its device at the same time, and rank 0 combines the
// results. Only the candidate is common to all ranks: each verifies, warms up, sizes its batches
// and stops independently, so that one rank's noise cannot bias another.
#pragma once

#include "deepbench/run/fleet/fleet_coordinator.hpp"
#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/row_steps.hpp"
#include "deepbench/run/row/trial_slot.hpp"

namespace deepbench {

// Like make_row(), in step with the other ranks of the fleet. The row is complete on rank 0.
void make_fleet_row(const RowContext& context, FleetCoordinator& fleet, TrialSlot& slot,
                    RowSteps& steps);

}  // namespace deepbench
