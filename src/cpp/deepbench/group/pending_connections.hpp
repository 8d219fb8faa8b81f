// Holds connections to rank 0 until their first message is complete. Other programs may connect as
// well as ranks, and a connection that is silent or slow delays no other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// A connection and its complete first message.
struct FirstMessage {
  Socket socket;
  std::string message;
};

class DEEPBENCH_API PendingConnections {
 public:
  // A connection that sends a message of more than `max_bytes` is closed.
  PendingConnections(Socket listener, uint64_t max_bytes);
  // Takes connections that exist already. They may stay silent until the deadline of next().
  PendingConnections(std::vector<Socket> connected, uint64_t max_bytes);

  // Waits for the next complete message. Returns nothing at the deadline, or once one of the
  // `watched` descriptors can be read. The other connections stay open until the greeting timeout.
  std::optional<FirstMessage> next(Deadline& deadline, const std::vector<int>& watched = {});

 private:
  struct Pending {
    Socket socket;
    Deadline deadline;
    std::string part;  // the received part of the message
  };

  bool wait(Deadline& deadline, const std::vector<int>& watched);
  void accept_all();
  std::optional<FirstMessage> take_complete_message();

  Socket listener_;
  uint64_t max_bytes_;
  std::vector<Pending> pending_;  // oldest first
};

}  // namespace deepbench
