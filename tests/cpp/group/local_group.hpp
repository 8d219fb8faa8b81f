// A group whose ranks all live in this process; each rank works on its own thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "deepbench/core/status.hpp"
#include "deepbench/group/rendezvous.hpp"

namespace deepbench::testing {

using Groups = std::vector<std::shared_ptr<Group>>;

inline LaunchEnvironment environment_of(int rank, int size, int port, double timeout_s = 30) {
  return {rank, size, "127.0.0.1", port, "a test", "secret", timeout_s, {}, ""};
}

// The result of Rendezvous::wait() for one rank: its group or the reason of its rejection.
struct RendezvousOutcome {
  std::shared_ptr<Group> group;
  std::string rejection;
};

inline RendezvousOutcome wait_for_group(Rendezvous& rendezvous) {
  try {
    return {rendezvous.wait(), ""};
  } catch (const BackendUnavailable& error) {
    return {nullptr, error.what()};
  }
}

inline Groups connect_ranks(int size) {
  Rendezvous first(environment_of(0, size, 0), {"1", "all_reduce"});
  Groups groups{size_t(size)};
  std::vector<std::thread> threads;
  for (int rank = 1; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      Rendezvous rendezvous(environment_of(rank, size, first.port()), {"1", "all_reduce"});
      groups[size_t(rank)] = wait_for_group(rendezvous).group;
    });
  groups[0] = wait_for_group(first).group;
  for (std::thread& thread : threads) thread.join();
  return groups;
}

inline void run_on_every_rank(const Groups& groups, const std::function<void(Group& group)>& body) {
  std::vector<std::thread> threads;
  for (const auto& group : groups) threads.emplace_back([&body, group] { body(*group); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace deepbench::testing
