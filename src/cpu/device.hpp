// The facts of the only device, the processor, that ceilings and result files need, and warnings
// about a machine that is not suitable for measuring.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "deepbench/plugin.hpp"
#include "system_files.hpp"
#include "topology.hpp"

namespace deepbench::cpu {

std::string cpu_name(const SystemRoot& root = {});

// The frequency governor of the processors in use; "" on machines without one.
std::string frequency_governor(const std::vector<int>& cpus, const SystemRoot& root = {});

// Each warning has a name and one line that includes the remedy.
std::vector<std::pair<std::string, std::string>> device_warnings(const Topology& topology,
                                                                 int threads,
                                                                 const SystemRoot& root = {});

void describe_processor(int threads, plugin::Sink& sink);

}  // namespace deepbench::cpu
