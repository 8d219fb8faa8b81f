// What the ranks of a fleet tell one another, as bytes. Readers throw ConnectionError for messages
// that are too short.
#pragma once

#include <string>

#include "deepbench/run/fleet/fleet_coordinator.hpp"

namespace deepbench {

std::string pack_rank_result(const RankResult& figures);
RankResult unpack_rank_result(const std::string& bytes);

// All that a row says of the device that made it; what was asked is the same on every rank.
std::string pack_row(const Row& row);
void unpack_row(const std::string& bytes, Row& row);

// Without the host, which is known of every member.
std::string pack_rank_device(const RankDevice& rank_device);
RankDevice unpack_rank_device(const std::string& bytes);

}  // namespace deepbench
