// Writes the summary of a fleet as JSON.
#pragma once

#include "deepbench/run/fleet/fleet_summary.hpp"
#include "deepbench/run/row/json_writer.hpp"

namespace deepbench {

void write_fleet(JsonWriter& json, const FleetSummary& fleet);

}  // namespace deepbench
