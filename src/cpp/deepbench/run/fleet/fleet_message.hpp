// The messages between the ranks of a fleet, as bytes. Readers throw ConnectionError for a message
// that is too short.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/run/fleet/fleet_coordinator.hpp"

namespace deepbench {

std::string pack_rank_result(RankResult result);
RankResult unpack_rank_result(const std::string& bytes);

DEEPBENCH_API std::string pack_findings(Findings found);
DEEPBENCH_API Findings unpack_findings(const std::string& bytes);

// Omits the host, which every rank knows.
std::string pack_rank_device(RankDevice rank_device);
RankDevice unpack_rank_device(const std::string& bytes);

}  // namespace deepbench
