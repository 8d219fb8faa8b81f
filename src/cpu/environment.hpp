// The environment variables that libraries read once, when they are loaded: the number of threads,
// their cores, and the kind of processor.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "isa.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

// Names and values for `threads` threads.
std::vector<std::pair<std::string, std::string>> library_environment(int threads,
                                                                     const Topology& topology,
                                                                     const Isa& isa);

}  // namespace deepbench::cpu
