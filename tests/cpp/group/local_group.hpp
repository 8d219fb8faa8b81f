// Ranks that have met, all in this process, each on a thread of its own when they work.
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
  return {rank, size, "127.0.0.1", port, "a test", "secret", timeout_s};
}

// What Rendezvous::wait() gives rank `rank`, or its refusal.
struct RendezvousOutcome {
  std::shared_ptr<Group> group;
  std::string refusal;
};

inline RendezvousOutcome wait_for_group(Rendezvous& meeting) {
  try {
    return {meeting.wait(), ""};
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
      Rendezvous meeting(environment_of(rank, size, first.port()), {"1", "all_reduce"});
      groups[size_t(rank)] = wait_for_group(meeting).group;
    });
  groups[0] = wait_for_group(first).group;
  for (std::thread& thread : threads) thread.join();
  return groups;
}

inline void on_every_rank(const Groups& groups, const std::function<void(Group& group)>& body) {
  std::vector<std::thread> threads;
  for (const auto& group : groups) threads.emplace_back([&body, group] { body(*group); });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace deepbench::testing
