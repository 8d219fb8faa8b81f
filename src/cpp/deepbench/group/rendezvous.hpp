// How the processes of a launch become a Group: rank 0 listens, the others connect and send a
// greeting. If they cannot work together, every rank is told the reason.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/group/launch_environment.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// Properties that must be the same on every rank.
struct LaunchIdentity {
  std::string version;  // version of deepbench
  std::string command;  // the command that runs, with all options
};

// The name of this machine and its boot id, which distinguishes machines of the same name.
DEEPBENCH_API std::string machine_identity();

class DEEPBENCH_API Rendezvous {
 public:
  // Rank 0 listens after construction, so that the other ranks can be told port(). Throws
  // BackendUnavailable.
  Rendezvous(const LaunchEnvironment& environment, const LaunchIdentity& identity);

  int port() const { return environment_.port; }

  // Waits until all ranks are connected, at most environment.timeout_s. Throws BackendUnavailable
  // on every connected rank if a rank is missing, has another version or runs another command.
  std::shared_ptr<Group> wait();

 private:
  std::shared_ptr<Group> gather_ranks();
  std::shared_ptr<Group> connect_to_rank_zero();
  void receive_greeting(class PendingConnections& connections, Deadline& deadline);
  std::string rejection_reason(const struct Greeting& greeting,
                               const std::string& rank_zero_command) const;
  // Sends the answer to all connected ranks and throws the reason.
  [[noreturn]] void reject(const std::string& reason, const std::string& answer);
  [[noreturn]] void reject(const std::string& reason) { reject(reason, reason); }
  std::string missing_ranks() const;

  LaunchEnvironment environment_;
  LaunchIdentity identity_;
  Socket listener_;
  std::vector<Socket> ranks_;       // on rank 0: connections by rank
  std::vector<std::string> hosts_;  // machine identities by rank
};

}  // namespace deepbench
