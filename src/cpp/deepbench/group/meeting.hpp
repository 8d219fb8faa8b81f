// How ranks find one another: rank 0 listens, the others come to it and say who they are; if they
// cannot work together, all of them are told why. What comes of it is a Group.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/group/placement.hpp"
#include "deepbench/group/socket.hpp"

namespace deepbench {

// What must be the same on every rank.
struct Terms {
  std::string version;  // of deepbench
  std::string command;  // what is to be run, with all options
};

// This machine's name, and what tells it from others of that name.
DEEPBENCH_API std::string this_machine();

class DEEPBENCH_API Meeting {
 public:
  // Rank 0 listens from here on, so that port() can be told to the others. Throws
  // BackendUnavailable.
  Meeting(const Placement& place, const Terms& terms);

  int port() const { return place_.port; }

  // Waits until all ranks are there, at most place.limit_s. Throws BackendUnavailable, on every
  // rank that came: somebody is missing, is another version, was asked for something else.
  std::shared_ptr<Group> wait();

 private:
  std::shared_ptr<Group> receive_all();
  std::shared_ptr<Group> come();
  void receive_one(class Arrivals& arrivals, Deadline& deadline);
  std::string objection(const struct Greeting& greeting, const std::string& our_command) const;
  // Gives all that came the answer, and throws the reason.
  [[noreturn]] void refuse(const std::string& reason, const std::string& answer);
  [[noreturn]] void refuse(const std::string& reason) { refuse(reason, reason); }
  std::string missing() const;

  Placement place_;
  Terms terms_;
  Socket listener_;
  std::vector<Socket> ranks_;       // rank 0's, by rank
  std::vector<std::string> hosts_;  // identities, by rank
};

}  // namespace deepbench
