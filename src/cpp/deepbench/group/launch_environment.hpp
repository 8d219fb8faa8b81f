// The rank of this process and the number of ranks, from the environment variables that launchers
// set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"

namespace deepbench {

struct LaunchEnvironment {
  int rank = 0, size = 1;
  std::string address = "127.0.0.1";  // address of rank 0
  int port = 0;                       // port of rank 0; 0: any free port, on rank 0 only
  std::string launcher;               // "torchrun", "srun", "mpirun", ...; used in messages
  std::string secret;                 // proves that a process is a rank of this run
  double timeout_s = 60;  // limit until all ranks have connected: DEEPBENCH_RENDEZVOUS_TIMEOUT
  // Descriptors of connected sockets that ranks started by rank 0 inherit: on rank 0 one to each
  // other rank, on another rank one to rank 0. Empty: the ranks connect to a socket_path or
  // address.
  std::vector<int> sockets;
  // The Unix socket at which ranks connect that are known to run on one machine. Empty: the ranks
  // connect to `address` and `port`.
  std::string socket_path;
  // Further addresses of rank 0, which the other ranks try in turn after `address`. Rank 0 then
  // listens at all addresses of its machine, and otherwise at `address` alone.
  std::vector<std::string> further_addresses = {};
  // No variable tells where rank 0 is, but an MPI started the ranks: `address` and `port` are then
  // learned from rank 0 by MPI (run/session/open_rendezvous.hpp).
  bool meets_by_mpi = false;

  bool uses_tcp() const { return sockets.empty() && socket_path.empty(); }
};

// Returns nullptr for a variable that is not set.
using VariableLookup = std::function<const char*(const char* name)>;

// Returns nothing if no variables are set or there is only one rank. Throws BackendUnavailable for
// contradictory variables.
DEEPBENCH_API std::optional<LaunchEnvironment> parse_launch_environment(
    const VariableLookup& variable);
DEEPBENCH_API std::optional<LaunchEnvironment> launch_environment();
// Why the ranks cannot meet if nothing tells where rank 0 is, and how to set MASTER_ADDR.
DEEPBENCH_API std::string missing_address_reason(const LaunchEnvironment& environment);
// The seconds within which all ranks must connect: DEEPBENCH_RENDEZVOUS_TIMEOUT, else 60. Throws
// BackendUnavailable for an invalid value of it or of DEEPBENCH_CONNECTION_TIMEOUT.
DEEPBENCH_API double rendezvous_timeout_s();

}  // namespace deepbench
