// Writes the summary of a fleet as JSON.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/run/fleet/fleet_summary.hpp"

namespace deepbench {

DEEPBENCH_API std::string fleet_json(const FleetSummary& fleet);

}  // namespace deepbench
