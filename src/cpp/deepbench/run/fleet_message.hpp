// What the ranks of a fleet tell one another, as bytes. Readers throw ConnectionError for messages
// that are too short.
#pragma once

#include <string>

#include "deepbench/run/fleet.hpp"

namespace deepbench {

std::string figures_message(const RankFigures& figures);
RankFigures figures_in(const std::string& bytes);

// All that a row says of the device that made it; what was asked is the same on every rank.
std::string middle_message(const Result& row);
void take_middle(const std::string& bytes, Result& row);

// Without the host, which is known of every member.
std::string place_message(const RankPlace& place);
RankPlace place_in(const std::string& bytes);

}  // namespace deepbench
