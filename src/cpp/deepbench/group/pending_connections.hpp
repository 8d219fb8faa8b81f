// Whoever connects to rank 0, up to the first message: strangers come to the port as well as ranks,
// and one that is silent, slow or never done holds up nobody else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepbench/group/socket.hpp"

namespace deepbench {

// A connection and the whole first message that came over it.
struct FirstMessage {
  Socket socket;
  std::string message;
};

class PendingConnections {
 public:
  // `max_bytes`: bytes of a message; who sends more is disconnected.
  PendingConnections(Socket listener, uint64_t max_bytes);

  // Waits for the next whole message; nothing at the deadline. All others keep their connections
  // for as long as a greeting may take.
  std::optional<FirstMessage> next(Deadline& deadline);

 private:
  struct Pending {
    Socket socket;
    Deadline deadline;
    std::string part;  // of the message, as far as it has come
  };

  void wait(Deadline& deadline);
  void accept_all();
  std::optional<FirstMessage> take_complete();

  Socket listener_;
  uint64_t max_bytes_;
  std::vector<Pending> pending_;  // the oldest first
};

}  // namespace deepbench
