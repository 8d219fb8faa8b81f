// Turns the processes of a launch into a Group: rank 0 listens, the others connect, and both sides
// recognize each other by a handshake. If they cannot work together, every rank is told the reason.
// Ranks that rank 0 has started inherit a connection to it, and ranks of one machine connect to a
// Unix socket in a folder of their user, so that no port is opened.
//
// A secret authenticates the greeting and, through keys that are new in each connection, every
// later message. It is never sent. A rank receives its seat only after it has answered random
// numbers of rank 0, and rank 0 listens until all ranks have confirmed that they begin: a
// connection that fails or stays silent until then loses its seat to the next one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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
  std::string command;  // the command with all options
};

class DEEPBENCH_API Rendezvous {
 public:
  // On rank 0, listens from now on, so that the other ranks can be told port(). Throws
  // BackendUnavailable, even on other ranks if other users can access the folder of their socket.
  Rendezvous(const LaunchEnvironment& environment, const LaunchIdentity& identity);

  int port() const { return environment_.port; }  // 0: there is none
  // On rank 0, a line for the user if processes on other machines can join or end the run, because
  // there is no secret; otherwise "".
  std::string warning() const;

  // Waits until all ranks are connected, at most environment.timeout_s. Throws BackendUnavailable
  // on every connected rank if a rank is missing, has another version or runs another command.
  std::shared_ptr<Group> wait();

 private:
  // A connection that was challenged and has not sent its introduction.
  struct Candidate {
    Socket socket;
    std::string part;  // the received part of the introduction
    std::string version;
    Deadline silence;
  };
  // The place of one rank, on rank 0. It is free while its socket is closed.
  struct Seat {
    Socket socket;
    std::string part;                // the received part of a message
    std::string process;             // the process that has the seat
    std::string host;                // machine identity
    std::string loss;                // the reason why the previous rank lost the seat
    int64_t confirmed = kNoWelcome;  // number of the welcome that the rank has confirmed
  };
  static constexpr int64_t kNoWelcome = 0;

  void listen();
  std::shared_ptr<Group> gather_ranks();
  PendingConnections pending_connections();
  void wait_for_messages(PendingConnections& connections, Deadline& deadline);
  void receive_greeting(FirstMessage first);
  void refuse_other_handshake(Socket socket, const std::string& version);
  void challenge(Socket socket, const struct Greeting& greeting);
  void receive_introductions();
  void take_seat(Socket socket, const std::string& version,
                 const struct Introduction& introduction);
  void free_seat(size_t rank, const std::string& loss);
  void receive_from_seats();
  void welcome_ranks();
  std::shared_ptr<Group> begin();
  bool all_seats_are_taken() const;
  bool all_have_confirmed() const;
  std::vector<std::string> addresses() const;
  std::vector<Member> members() const;
  double silence_limit_s() const;

  std::string other_version_reason(const std::string& version) const;
  std::string rejection_reason(const std::string& version, const struct Introduction& introduction,
                               const std::string& rank_zero_command) const;
  // Sends `answer` to the ranks that have seats and to `also`, and throws `reason`.
  [[noreturn]] void reject(const std::string& reason, const std::string& answer, Socket also);
  [[noreturn]] void reject(const std::string& reason) { reject(reason, reason, Socket()); }
  [[noreturn]] void reject_missing_ranks();
  std::string missing_ranks() const;
  std::string hints_about_missing_ranks() const;
  bool is_reachable_from_this_machine_only() const;

  std::shared_ptr<Group> connect_to_rank_zero();
  Socket connection_to_rank_zero(Deadline& deadline) const;
  void take_next_address();
  void greet_rank_zero(Socket& socket, Deadline& deadline) const;
  std::shared_ptr<Group> join_group(Socket socket) const;

  LaunchEnvironment environment_;
  LaunchIdentity identity_;
  std::string process_;  // a random number of this process
  Socket listener_;
  SocketFile socket_file_;         // of a listener at a path
  std::string listening_address_;  // numeric; empty without a port
  // These members are used on rank 0 only.
  std::vector<Candidate> candidates_;  // oldest first
  std::vector<Seat> seats_;            // by rank
  std::string other_version_;          // reason why a rank with another handshake was refused
  int64_t welcome_ = kNoWelcome;       // number of the last welcome
  // Limit for confirming the last welcome, unless it is void.
  std::optional<Deadline> confirmation_;
};

}  // namespace deepbench
