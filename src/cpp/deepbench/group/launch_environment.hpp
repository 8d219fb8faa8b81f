// Which rank of how many this process is, as whoever started it says by the usual variables.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

struct LaunchEnvironment {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  // rank 0's
  int port = 0;                       // rank 0's; 0: any, for rank 0 alone
  std::string launcher;               // "torchrun", "srun", "mpirun", ...: for messages
  std::string secret;                 // who does not know it is no rank of ours
  double timeout_s = 60;              // for all ranks to come: DEEPBENCH_RENDEZVOUS_TIMEOUT
};

using VariableLookup = std::function<const char*(const char* name)>;  // nullptr: not set

// Nothing where no variable says so, or there is one rank alone. Throws BackendUnavailable for
// variables that make no sense together.
DEEPBENCH_API std::optional<LaunchEnvironment> parse_launch_environment(
    const VariableLookup& variable);
DEEPBENCH_API std::optional<LaunchEnvironment> launch_environment();  // of this process
DEEPBENCH_API double rendezvous_timeout_s();

}  // namespace deepbench
