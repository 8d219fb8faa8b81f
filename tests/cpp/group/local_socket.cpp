// Tests that ranks of one machine meet at a Unix socket, what happens to its file, and that other
// users are no ranks.
#include "deepbench/group/local_socket.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../forked_process.hpp"
#include "../temporary_folder.hpp"
#include "deepbench/group/local_socket_path.hpp"
#include "deepbench/group/pending_connections.hpp"
#include "local_group.hpp"

namespace deepbench {
namespace {

using testing::environment_of;
using testing::RendezvousOutcome;
using testing::TemporaryFolder;
using testing::wait_for_group;

const LaunchIdentity kIdentity = {"1.0", "all_reduce half"};

LaunchEnvironment local_environment(int rank, int size, const std::string& path,
                                    double timeout_s = 60) {
  LaunchEnvironment environment = environment_of(rank, size, 0, timeout_s);
  environment.secret.clear();
  environment.socket_path = path;
  return environment;
}

std::string path_in(const TemporaryFolder& folder, const std::string& launch) {
  return folder / "deepbench/" + local_socket_prefix() + launch;
}

size_t files_beside(const std::string& path) {
  const std::filesystem::directory_iterator all(std::filesystem::path(path).parent_path());
  return size_t(std::distance(begin(all), end(all)));
}

// All ranks of a launch meet. Rank 0 comes last.
void check_ranks_meet(const std::string& path, int size = 3) {
  std::vector<RendezvousOutcome> outcomes{size_t(size)};
  std::vector<std::thread> threads;
  for (int rank = size - 1; rank >= 0; --rank)
    threads.emplace_back([&, rank] {
      Rendezvous rendezvous(local_environment(rank, size, path), kIdentity);
      outcomes[size_t(rank)] = wait_for_group(rendezvous);
    });
  for (std::thread& thread : threads) thread.join();
  for (const RendezvousOutcome& outcome : outcomes) CHECK(outcome.rejection == "");
}

std::string refusal_of_rank_zero(const std::string& path) {
  try {
    const Rendezvous rendezvous(local_environment(0, 2, path), kIdentity);
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  return "";
}

Socket bound_socket(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  Socket socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  REQUIRE(bind(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

// Leaves the file of a socket, as a process that is killed does.
void leave_socket(const std::string& path) {
  make_private_folder_of(path);
  const Socket socket = bound_socket(path);
  REQUIRE(listen(socket.descriptor(), 1) == 0);
}

TEST_CASE("ranks of one machine meet at a socket, whose file is then gone") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  check_ranks_meet(path);
  CHECK(files_beside(path) == 0);
  check_ranks_meet(path);  // the next launch
  CHECK(files_beside(path) == 0);
}

TEST_CASE("ranks at a socket know one another's address and have no port") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  Rendezvous first(local_environment(0, 2, path), kIdentity);
  CHECK(first.port() == 0);
  CHECK(first.warning() == "");
  RendezvousOutcome second;
  std::thread thread([&] {
    Rendezvous rendezvous(local_environment(1, 2, path), kIdentity);
    second = wait_for_group(rendezvous);
  });
  const RendezvousOutcome outcome = wait_for_group(first);
  thread.join();
  REQUIRE(outcome.rejection == "");
  CHECK(files_beside(path) == 0);  // although rank 0 goes on
  CHECK(second.group->members()[0].address == "127.0.0.1");
  CHECK(second.group->self().address == "127.0.0.1");
  outcome.group->broadcast_row("a row");
  CHECK(second.group->next_row() == "a row");
}

TEST_CASE("the file of a rank 0 that does not wait, or waits in vain, is removed") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  {
    const Rendezvous first(local_environment(0, 2, path), kIdentity);
    CHECK(files_beside(path) == 1);
  }
  CHECK(files_beside(path) == 0);
  Rendezvous first(local_environment(0, 2, path, 0.2), kIdentity);
  CHECK(wait_for_group(first).rejection ==
        "rank 1 of 2 did not connect to " + path + " within 0.2 s");
  CHECK(files_beside(path) == 0);
}

TEST_CASE("a missing rank 0 is named by the path") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  Rendezvous second(local_environment(1, 2, path, 0.2), kIdentity);
  CHECK(wait_for_group(second).rejection ==
        "rank 1: rank 0 at " + path + " does not answer: No such file or directory, within 0.2 s");
}

TEST_CASE("sockets that killed processes left are removed") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  leave_socket(path);
  leave_socket(path_in(folder, "another launch"));
  CHECK(files_beside(path) == 2);
  check_ranks_meet(path);
  CHECK(files_beside(path) == 0);
}

TEST_CASE("a socket at which a process listens is not replaced") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  Rendezvous first(local_environment(0, 2, path), kIdentity);
  const std::string refusal = refusal_of_rank_zero(path);
  CHECK(refusal.find("rank 0 of 2 cannot listen at '" + path + "': ") == 0);
  CHECK(refusal.find("process " + std::to_string(getpid()) + " (") != std::string::npos);
  CHECK(refusal.find("already listens there (set MASTER_PORT to another number") !=
        std::string::npos);
  CHECK(files_beside(path) == 1);
  // The first one goes on.
  std::thread thread([&] {
    Rendezvous second(local_environment(1, 2, path), kIdentity);
    CHECK(wait_for_group(second).rejection == "");
  });
  CHECK(wait_for_group(first).rejection == "");
  thread.join();
}

TEST_CASE("a file that is no socket is not removed") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  make_private_folder_of(path);
  std::filesystem::create_directory(path);
  CHECK(refusal_of_rank_zero(path).find("Address already in use") != std::string::npos);
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("launches at the same time do not meet one another") {
  const TemporaryFolder folder;
  std::vector<std::thread> launches;
  for (const char* id : {"one", "two", "three", "four"})
    launches.emplace_back([path = path_in(folder, id)] {
      for (int count = 0; count < 5; ++count) check_ranks_meet(path, 2);
    });
  for (std::thread& launch : launches) launch.join();
}

TEST_CASE("a socket that does not listen yet is not taken for one that was left") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  make_private_folder_of(path);
  const int lock = open((folder / "deepbench").c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(flock(lock, LOCK_EX) == 0);
  const Socket first = bound_socket(path);
  std::string refusal;
  std::thread second([&] { refusal = refusal_of_rank_zero(path); });
  poll(nullptr, 0, 100);  // in which the second one would remove the file
  REQUIRE(listen(first.descriptor(), 1) == 0);
  close(lock);
  second.join();
  CHECK(refusal.find("already listens there") != std::string::npos);
}

TEST_CASE("the secret authenticates ranks at a socket too") {
  const TemporaryFolder folder;
  const std::string path = path_in(folder, "a launch");
  LaunchEnvironment zero = local_environment(0, 2, path, 0.5);
  LaunchEnvironment one = local_environment(1, 2, path, 0.5);
  zero.secret = "one", one.secret = "another";
  Rendezvous first(zero, kIdentity), second(one, kIdentity);
  RendezvousOutcome outcome;
  std::thread thread([&] { outcome = wait_for_group(second); });
  CHECK(wait_for_group(first).rejection.find("rank 1 of 2 did not connect") == 0);
  thread.join();
  CHECK(outcome.rejection.find("rank 1: rank 0 at " + path) == 0);
}

// Connects as the user nobody and sends a complete message; returns whether the connection was
// established. A process is needed, because the threads of a process share its user.
bool connect_as_nobody(const std::string& path) {
  testing::ForkedProcess child([&] {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, path.size());
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
    const char message[9] = {1, 0, 0, 0, 0, 0, 0, 0, 'x'};
    const bool sent =
        setuid(65534) == 0 &&
        ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
        send(descriptor, message, sizeof message, MSG_NOSIGNAL) == sizeof message;
    return sent ? 0 : 1;
  });
  return child.end() == 0;
}

TEST_CASE("a process of another user is no rank, even where the folder is open") {
  if (geteuid() != 0) {
    MESSAGE("not root, and thus not run");
    return;
  }
  const TemporaryFolder folder;
  const std::string path = folder / "socket";
  LocalListener listener = listen_at_path(path);
  REQUIRE(chmod(folder.path().c_str(), 0755) == 0);
  REQUIRE(chmod(path.c_str(), 0777) == 0);
  PendingConnections connections(std::move(listener.socket), 100);
  REQUIRE(connect_as_nobody(path));
  Deadline deadline(20);
  Socket root = connect_to_path(path, deadline);
  root.send("root", deadline);
  const std::optional<FirstMessage> first = connections.next(deadline);
  REQUIRE(first);
  CHECK(first->message == "root");
  Deadline soon(0.2);
  CHECK_FALSE(connections.next(soon));
}

TEST_CASE("sockets of no user are trusted, because their connections need the secret") {
  const Socket listener = Socket::listen("127.0.0.1", 0);
  CHECK(is_peer_trusted(listener));
}

}  // namespace
}  // namespace deepbench
