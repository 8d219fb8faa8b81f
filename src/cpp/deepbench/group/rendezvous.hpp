// How ranks find one another: rank 0 listens, the others come to it and say who they are; if they
// cannot work together, all of them are told why. What comes of it is a Group.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/group/launch_environment.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// What must be the same on every rank.
struct LaunchIdentity {
  std::string version;  // of deepbench
  std::string command;  // what is to be run, with all options
};

// This machine's name, and what tells it from others of that name.
DEEPBENCH_API std::string machine_identity();

class DEEPBENCH_API Rendezvous {
 public:
  // Rank 0 listens from here on, so that port() can be told to the others. Throws
  // BackendUnavailable.
  Rendezvous(const LaunchEnvironment& environment, const LaunchIdentity& identity);

  int port() const { return environment_.port; }

  // Waits until all ranks are there, at most environment.timeout_s. Throws BackendUnavailable, on
  // every rank that came: somebody is missing, is another version, was asked for something else.
  std::shared_ptr<Group> wait();

 private:
  std::shared_ptr<Group> gather_ranks();
  std::shared_ptr<Group> connect_to_rank_zero();
  void receive_greeting(class PendingConnections& connections, Deadline& deadline);
  std::string rejection_reason(const struct Greeting& greeting,
                               const std::string& rank_zero_command) const;
  // Gives all that came the answer, and throws the reason.
  [[noreturn]] void reject(const std::string& reason, const std::string& answer);
  [[noreturn]] void reject(const std::string& reason) { reject(reason, reason); }
  std::string missing_ranks() const;

  LaunchEnvironment environment_;
  LaunchIdentity identity_;
  Socket listener_;
  std::vector<Socket> ranks_;       // rank 0's, by rank
  std::vector<std::string> hosts_;  // identities, by rank
};

}  // namespace deepbench
