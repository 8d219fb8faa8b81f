// Tests rounds: one answer for all ranks, one failure for all ranks, and lost ranks.
#include "deepbench/group/group.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../forked_process.hpp"
#include "../no_more_threads.hpp"
#include "local_group.hpp"

namespace deepbench {
namespace {

// Waits up to ten seconds, because another thread changes the condition.
bool becomes_true(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

using testing::connect_ranks;
using testing::Groups;
using testing::run_on_every_rank;

std::string concatenated(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += one;
  return text;
}

// The failure that `body` throws, or "".
std::string failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const RowFailure& failure) {
    return std::string(name_of(failure.status())) + " | " + failure.what();
  }
  return "";
}

using Texts = std::array<std::string, 3>;

TEST_CASE("every rank receives the same answer to all contributions") {
  Texts answers;
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    const std::string mine(size_t(group.rank()) + 1, char('a' + group.rank()));
    answers[size_t(group.rank())] =
        group.reduce_and_broadcast(AbortScope::kStep, "letters", mine, concatenated);
    CHECK(value_of_rank_zero(&group, "clock", 0.5 + group.rank()) == 0.5);
  });
  CHECK(answers == Texts{"abbccc", "abbccc", "abbccc"});
}

TEST_CASE("a failure on one rank fails all ranks, and the next step runs") {
  Texts first, second;
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    const auto rank = size_t(group.rank());
    first[rank] = failure_of([&] {
      collective_step(&group, "prepare", [&] {
        if (rank == 1) throw RowFailure(Status::kOutOfMemory, "no room");
      });
    });
    second[rank] = failure_of([&] { collective_step(&group, "prepare", [] {}); });
  });
  CHECK(first[0] == "out_of_memory | rank 1: no room");
  CHECK(first == Texts{first[0], first[0], first[0]});
  CHECK(second == Texts{"", "", ""});
}

TEST_CASE("a problem rejected on any rank is invalid on all ranks") {
  Texts failures;
  run_on_every_rank(connect_ranks(2), [&](Group& group) {
    failures[size_t(group.rank())] = failure_of([&] {
      collective_step(&group, "check", [&] {
        if (group.rank() == 1) throw InvalidProblem("threads=9: too many");
      });
    });
  });
  CHECK(failures[0] == "invalid | rank 1: threads=9: too many");
  CHECK(failures[1] == failures[0]);
}

TEST_CASE("a failure ahead of an exchange ends the exchange on all ranks") {
  Texts failures;
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    failures[size_t(group.rank())] = failure_of([&] {
      collective_step(&group, "prepare", [&] {
        if (group.rank() == 2) throw RowFailure(Status::kFailed, "no library");
        group.reduce_and_broadcast(AbortScope::kExchange, "exchange", "x", concatenated);
      });
    });
    // All ranks are at the same step again.
    CHECK(group.reduce_and_broadcast(AbortScope::kStep, "after", "y", concatenated) == "yyy");
  });
  CHECK(failures[0] == "failed | rank 2: no library");
  CHECK(failures == Texts{failures[0], failures[0], failures[0]});
}

TEST_CASE("a failure of the row ends every further attempt within it") {
  Texts failures;
  int tried = 0;
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    failures[size_t(group.rank())] = failure_of([&] {
      group.collective_step(AbortScope::kRow, "row", [&] {
        if (group.rank() == 1) throw RowFailure(Status::kInvalid, "no sense");
        for (int attempt = 0; attempt < 3; ++attempt) {
          failure_of([&] {
            collective_step(&group, "candidate", [&] {
              if (group.rank() == 0) ++tried;
            });
          });
        }
      });
    });
    group.collective_step(AbortScope::kRow, "row", [] {});
  });
  CHECK(tried == 1);  // after the first attempt every rank knows of the failure
  CHECK(failures[0] == "invalid | rank 1: no sense");
  CHECK(failures == Texts{failures[0], failures[0], failures[0]});
}

TEST_CASE("ranks at different steps fail with a message that names the steps") {
  Texts failures;
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    const std::string step = group.rank() == 2 ? "batch of 7" : "batch of 5";
    failures[size_t(group.rank())] = failure_of([&] {
      group.collective_step(AbortScope::kRow, "row", [&] {
        group.reduce_and_broadcast(AbortScope::kStep, step, "", concatenated);
      });
    });
  });
  CHECK(failures[0] == "failed | rank 2 is at 'batch of 7' while rank 0 is at 'batch of 5'");
  CHECK(failures == Texts{failures[0], failures[0], failures[0]});
}

TEST_CASE("messages that cannot be combined fail the step on all ranks, and the next step runs") {
  Texts failures, next;
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    const auto rank = size_t(group.rank());
    failures[rank] = failure_of([&] {
      group.collective_step(AbortScope::kRow, "row", [&] {
        group.reduce_and_broadcast(AbortScope::kStep, "sum", "1",
                                   [](const std::vector<std::string>&) -> std::string {
                                     throw std::out_of_range("no second value");
                                   });
      });
    });
    next[rank] = group.reduce_and_broadcast(AbortScope::kStep, "after", "y", concatenated);
  });
  CHECK(failures[0] == "failed | the ranks' messages at 'sum' cannot be combined: no second value");
  CHECK(failures == Texts{failures[0], failures[0], failures[0]});
  CHECK(next == Texts{"yyy", "yyy", "yyy"});
}

TEST_CASE("the other ranks receive rows from rank 0 until it ends") {
  run_on_every_rank(connect_ranks(3), [&](Group& group) {
    if (group.rank() == 0) {
      group.broadcast_row("all_reduce elements=3");
      group.broadcast_row("");
      group.end();
      return;
    }
    CHECK_FALSE(group.is_disconnected());
    CHECK(group.next_row() == "all_reduce elements=3");
    CHECK(group.next_row() == "");
    CHECK_FALSE(group.next_row().has_value());
    group.end();
    CHECK(group.wait_for_disconnect() == "");
  });
}

size_t threads_of_process() {
  const std::filesystem::directory_iterator all("/proc/self/task");
  return size_t(std::distance(begin(all), end(all)));
}

// A backend that has joined a group keeps it. A process that forks while a thread of it ends may
// copy what that thread has locked.
TEST_CASE("a group that has ended has no thread, though it is kept") {
  if (!std::filesystem::exists("/proc/self/task")) return;
  int begun = 0, ended = 0;  // the system may list a thread for some time after its end
  for (int i = 0; i < 20; ++i) {
    const size_t before = threads_of_process();
    const Groups kept = connect_ranks(2);
    begun += threads_of_process() >= before + 2;
    for (const auto& group : kept) group->end();
    ended += threads_of_process() <= before;
  }
  CHECK(begun > 10);
  CHECK(ended > 10);
}

TEST_CASE("a lost rank ends the round for all others, and they learn which rank it is") {
  Groups groups = connect_ranks(3);
  groups[1].reset();
  Texts failures;
  run_on_every_rank({groups[0], groups[2]}, [&](Group& group) {
    failures[size_t(group.rank())] = failure_of([&] {
      group.collective_step(AbortScope::kRow, "row", [&] {
        group.reduce_and_broadcast(AbortScope::kStep, "x", "", concatenated);
      });
    });
  });
  CHECK(failures[0].find("device_lost | rank 1 of 3 (") == 0);
  CHECK(failures[0].find("closed the connection") != std::string::npos);
  CHECK(failures[2] == failures[0]);
  CHECK(groups[0]->is_disconnected());
  CHECK(becomes_true(
      // its watchdog sees that rank 0 closes the connection
      [&] { return groups[2]->is_disconnected(); }));
}

TEST_CASE("a rank that rank 0 closes the connection to is lost, whoever holds the other end open") {
  const Groups groups = connect_ranks(2);
  groups[0]->close_connection(1);
  const std::string failure =
      failure_of([&] { groups[0]->collective_step(AbortScope::kRow, "row", [] {}); });
  CHECK(failure.find("device_lost | rank 1 of 2 (") == 0);
  CHECK(failure.find(") closed the connection") != std::string::npos);
}

TEST_CASE(
    "a rank 0 that is silent within a row counts as lost at the limit, and not between rows") {
  const Groups groups = connect_ranks(2);
  groups[1]->limit_silence_of_rank_zero(0.1);
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    groups[0]->broadcast_row("a row");
  });
  CHECK(groups[1]->next_row() == "a row");
  late.join();
  const std::string failure =
      failure_of([&] { groups[1]->collective_step(AbortScope::kRow, "row", [] {}); });
  CHECK(failure.find("device_lost | rank 0 of 2 (") == 0);
  CHECK(failure.find(") sent nothing for 0.1 s") != std::string::npos);
}

TEST_CASE("a failure that follows from a bad message of rank 0 has that as its reason") {
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  std::vector<Socket> to_rank_zero;
  to_rank_zero.push_back(Socket::inherited(ends[1]));
  Group group(1, {{"here", ""}, {"here", ""}}, std::move(to_rank_zero));
  std::string reported;
  std::thread rank_zero([&] {
    Socket socket = Socket::inherited(ends[0]);
    Deadline deadline(30);
    socket.send("no answer", deadline);
    socket.receive(1000, deadline);  // what the rank exchanges
    reported = socket.receive(1000, deadline);
  });
  CHECK_FALSE(failure_of([&] {
                group.collective_step(AbortScope::kRow, "row", [&] {
                  // as a backend does
                  if (failure_of([&] {
                        group.reduce_and_broadcast(AbortScope::kExchange, "x", "", concatenated);
                      }) != "")
                    throw RowFailure(Status::kDeviceLost, "the ranks could not exchange");
                });
              }).empty());
  rank_zero.join();
  CHECK(reported.find("rank 0 of 2 (here) sent a truncated message") != std::string::npos);
}

TEST_CASE("a rank that does not come back between rows counts as waiting for a lost rank 0") {
  Groups groups = connect_ranks(2);
  groups[0].reset();
  CHECK(groups[1]->wait_for_disconnect().find("closed the connection") != std::string::npos);
}

TEST_CASE("rank 0 waits until the others are back from a row, and learns which is not") {
  Groups groups = connect_ranks(3);
  std::vector<std::string> rows;
  std::thread first([&] {
    // Rank 0 tells it of the lost rank.
    CHECK(failure_of([&] {
            while (const auto row = groups[1]->next_row()) rows.push_back(*row);
          }) != "");
  });
  std::atomic<bool> is_late{true};
  std::thread second([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    is_late = false;
    CHECK(groups[2]->next_row() == "a row");
    groups[2].reset();  // it ends while it frees what the row had taken
  });
  groups[0]->wait_until_all_are_ready();
  CHECK_FALSE(is_late);
  groups[0]->broadcast_row("a row");
  second.join();
  const std::string failure = failure_of([&] { groups[0]->wait_until_all_are_ready(); });
  CAPTURE(failure);
  CHECK(failure.find("rank 2 of 3") != std::string::npos);
  first.join();
  CHECK(rows == std::vector<std::string>{"a row"});
}

TEST_CASE("the other ranks notice a lost rank 0 between rows and within a row") {
  for (const bool within : {false, true}) {
    Groups groups = connect_ranks(2);
    groups[0].reset();
    const std::string failure = failure_of([&] {
      if (within)
        groups[1]->collective_step(AbortScope::kRow, "row", [] {});
      else
        groups[1]->next_row();
    });
    CAPTURE(failure);
    CHECK(failure.find(within ? "rank 0 of 2" : "") != std::string::npos);
  }
}

TEST_CASE("a rank that cannot start its watchdog says so before its connection closes" *
          doctest::skip(!testing::kMayStartThreadAfterFork)) {
  testing::ForkedProcess rank([] {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return 1;
    if (!testing::forbid_more_threads()) return 1;
    const Socket of_rank_zero(ends[0]);
    std::vector<Socket> sockets;
    sockets.emplace_back(ends[1]);
    try {
      const Group group(1, {{"node", ""}, {"node", ""}}, std::move(sockets));
    } catch (const std::runtime_error& error) {
      const std::string start = "cannot start the watchdog of the ranks: the limit of threads";
      const bool is_named = std::string(error.what()).compare(0, start.size(), start) == 0;
      return is_named && !of_rank_zero.is_readable(0) ? 7 : 2;
    }
    return 3;
  });
  CHECK(rank.end() == 7);
}

}  // namespace
}  // namespace deepbench
