// How the processes of a launch become a Group: rank 0 listens, the others connect and send a
// greeting. If they cannot work together, every rank is told the reason. Ranks that rank 0 has
// started inherit a connection to it, and ranks of one machine meet at a Unix socket in a folder of
// their user, so that there is no port.
//
// A secret authenticates the greeting and, through keys that are new in each connection, every
// later message. It is never sent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/group/launch_environment.hpp"
#include "deepbench/group/local_socket.hpp"
#include "deepbench/group/pending_connections.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// Properties that must be the same on every rank.
struct LaunchIdentity {
  std::string version;  // version of deepbench
  std::string command;  // the command that runs, with all options
};

class DEEPBENCH_API Rendezvous {
 public:
  // Rank 0 listens after construction, so that the other ranks can be told port(). Throws
  // BackendUnavailable, on every rank if others can reach the folder of their socket.
  Rendezvous(const LaunchEnvironment& environment, const LaunchIdentity& identity);

  int port() const { return environment_.port; }  // 0: there is none
  // On rank 0: a line for the user if processes on other machines can join or end the run, because
  // there is no secret; "" otherwise.
  std::string warning() const;

  // Waits until all ranks are connected, at most environment.timeout_s. Throws BackendUnavailable
  // on every connected rank if a rank is missing, has another version or runs another command.
  std::shared_ptr<Group> wait();

 private:
  void listen();
  std::shared_ptr<Group> gather_ranks();
  std::shared_ptr<Group> connect_to_rank_zero();
  Socket connection_to_rank_zero(Deadline& deadline) const;
  PendingConnections pending_connections();
  void receive_greeting(PendingConnections& connections, Deadline& deadline);
  void welcome_ranks(const std::vector<Member>& members);
  std::string rejection_reason(const struct Greeting& greeting,
                               const std::string& rank_zero_command) const;
  // Sends the answer to all connected ranks and throws the reason.
  [[noreturn]] void reject(const std::string& reason, const std::string& answer);
  [[noreturn]] void reject(const std::string& reason) { reject(reason, reason); }
  [[noreturn]] void reject_missing_ranks();
  std::string missing_ranks() const;
  bool is_reachable_from_this_machine_only() const;

  LaunchEnvironment environment_;
  LaunchIdentity identity_;
  Socket listener_;
  SocketFile socket_file_;           // of a listener at a path
  std::string listening_address_;    // numeric; empty without a port
  std::vector<Socket> ranks_;        // on rank 0: connections by rank
  std::vector<std::string> hosts_;   // machine identities by rank
  std::vector<std::string> nonces_;  // of the greetings, by rank
};

}  // namespace deepbench
