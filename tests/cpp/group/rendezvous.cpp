// Ranks find one another, or are all told why not.
#include "deepbench/group/rendezvous.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <random>
#include <vector>

#include "deepbench/group/message.hpp"
#include "local_group.hpp"

namespace deepbench {
namespace {

using testing::connect_ranks;
using testing::environment_of;
using testing::RendezvousOutcome;
using testing::wait_for_group;

const LaunchIdentity kIdentity = {"1.0", "all_reduce half"};

struct TwoOutcomes {
  RendezvousOutcome first, second;
};

// Rank 0 of two, and somebody with this environment and identity.
TwoOutcomes connect_two(int rank, int size, const LaunchIdentity& identity,
                        const std::string& secret = "secret", double timeout_s = 20) {
  TwoOutcomes both;
  Rendezvous first(environment_of(0, 2, 0, timeout_s), kIdentity);
  std::thread thread([&] {
    LaunchEnvironment place = environment_of(rank, size, first.port(), timeout_s);
    place.secret = secret;
    Rendezvous second(place, identity);
    both.second = wait_for_group(second);
  });
  both.first = wait_for_group(first);
  { const Rendezvous closed = std::move(first); }  // nobody is to knock in vain
  thread.join();
  return both;
}

void check_refused(const TwoOutcomes& both, const std::string& reason) {
  CHECK(both.first.refusal == reason);
  CHECK(both.second.refusal == reason);
}

TEST_CASE("ranks know themselves and one another") {
  const testing::Groups groups = connect_ranks(3);
  for (int rank = 0; rank < 3; ++rank) {
    const Group& group = *groups[size_t(rank)];
    CHECK(group.rank() == rank);
    CHECK(group.size() == 3);
    CHECK(group.self().local_rank == rank);
    CHECK(group.self().local_size == 3);
    CHECK(group.self().address == "127.0.0.1");
    CHECK(group.members()[0].host == groups[0]->self().host);
  }
}

TEST_CASE("what does not belong together is refused on both sides") {
  check_refused(connect_two(1, 2, {"1.1", "all_reduce half"}),
                "a rank runs deepbench 1.1, rank 0 runs 1.0: all ranks must run the same version");
  check_refused(connect_two(1, 2, {"1.0", "all_reduce float"}),
                "rank 1 runs 'all_reduce float', rank 0 runs 'all_reduce half': all ranks must run "
                "the same command");
  check_refused(connect_two(1, 3, kIdentity), "rank 1 expects 3 ranks, rank 0 expects 2");
}

TEST_CASE("two processes with one rank are refused") {
  Rendezvous first(environment_of(0, 3, 0), kIdentity);
  std::array<RendezvousOutcome, 2> twins;
  std::vector<std::thread> threads;
  for (RendezvousOutcome& twin : twins)
    threads.emplace_back([&] {
      Rendezvous meeting(environment_of(1, 3, first.port()), kIdentity);
      twin = wait_for_group(meeting);
    });
  const std::string refusal = wait_for_group(first).refusal;
  for (std::thread& thread : threads) thread.join();
  CHECK(refusal == "two processes claim to be rank 1");
  for (const RendezvousOutcome& twin : twins) CHECK(twin.refusal == refusal);
}

TEST_CASE("who does not come is named") {
  Rendezvous first(environment_of(0, 4, 0, 0.2), kIdentity);
  const std::string refusal = wait_for_group(first).refusal;
  CHECK(refusal == "ranks 1 2 3 of 4 did not connect to 127.0.0.1:" + std::to_string(first.port()) +
                       " within 0.2 s");
}

TEST_CASE("rank 0 that is not there is named, too") {
  const int port = Rendezvous(environment_of(0, 2, 0), kIdentity).port();  // free again
  Rendezvous second(environment_of(1, 2, port, 0.2), kIdentity);
  const std::string refusal = wait_for_group(second).refusal;
  CHECK(refusal.find("rank 1: rank 0 at 127.0.0.1:" + std::to_string(port) +
                     " does not answer: ") == 0);
  CHECK(refusal.find("within 0.2 s") != std::string::npos);
}

TEST_CASE("a rank with another secret is a stranger: it is told nothing and ends nothing") {
  const TwoOutcomes both = connect_two(1, 2, kIdentity, "another secret", 0.5);
  CHECK(both.first.refusal.find("rank 1 of 2 did not connect") == 0);
  CHECK(both.second.refusal.find("closed the connection") != std::string::npos);
  CHECK(both.second.refusal.find("DEEPBENCH_RANKS_SECRET must be the same") != std::string::npos);
}

TEST_CASE("another version is refused only to who knows the secret") {
  const TwoOutcomes both = connect_two(1, 2, {"0.9", "all_reduce half"}, "", 0.5);
  CHECK(both.first.refusal.find("rank 1 of 2 did not connect") == 0);
  CHECK(both.second.refusal.find("closed the connection") != std::string::npos);
}

// ---- strangers ----------------------------------------------------------------------------------

// A greeting as every version begins one: magic, version, secret; then host, command, rank, size.
std::string greeting(const std::string& magic, const std::string& version,
                     const std::string& secret, const std::string& command = kIdentity.command,
                     int64_t rank = 1, int64_t size = 2) {
  Packer packer;
  packer.text(magic).text(version).text(secret).text("a host").text(command);
  return packer.number(rank).number(size).bytes();
}

std::string framed(const std::string& message) {
  const uint64_t size = message.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + message;
}

// A connection over which these bytes are sent, whatever they are.
Socket connect_stranger(int port, const std::string& bytes) {
  Deadline deadline(20);
  Socket socket = Socket::connect("127.0.0.1", port, deadline);
  size_t sent = 0;
  while (sent < bytes.size()) {  // rank 0 may hang up in the middle of it
    const ssize_t got =
        send(socket.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (got < 0 && errno == EAGAIN) continue;
    if (got <= 0) break;
    sent += size_t(got);
  }
  return socket;
}

// What rank 0 says to a stranger until it hangs up: "" where it says nothing.
std::string answer_to(const Socket& stranger) {
  std::string answer;
  while (stranger.is_readable(20000)) {
    char byte = 0;
    if (recv(stranger.descriptor(), &byte, 1, 0) <= 0) return answer;
    answer += byte;
  }
  return "it did not hang up";
}

std::string random_bytes(size_t count) {
  std::mt19937 engine(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(engine());
  return bytes;
}

// Strangers come first, then the rank that is waited for.
void check_strangers_ignored(const std::vector<std::string>& packets) {
  Rendezvous first(environment_of(0, 2, 0), kIdentity);
  std::vector<Socket> strangers;
  for (const std::string& packet : packets)
    strangers.push_back(connect_stranger(first.port(), packet));
  RendezvousOutcome second;
  std::thread thread([&] {
    Rendezvous meeting(environment_of(1, 2, first.port()), kIdentity);
    second = wait_for_group(meeting);
  });
  CHECK(wait_for_group(first).refusal == "");
  thread.join();
  CHECK(second.refusal == "");
  for (const Socket& stranger : strangers) CHECK(answer_to(stranger) == "");
}

TEST_CASE("a stranger's packet ends nothing and gets no answer, whatever is in it") {
  const std::string magic = "deepbench rank 1";
  for (const std::string& packet : {
           std::string(),  // silence
           std::string("\0", 1),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           random_bytes(7),
           random_bytes(100000),
           std::string(8, '\0'),    // a message of no bytes
           std::string(8, '\xff'),  // a message that never ends
           framed(random_bytes(5000)),
           framed(greeting(magic, "1.0", "")),
           framed(greeting(magic, "1.0", "secre")),
           framed(greeting(magic, "1.0", "secret\n")),
           framed(greeting(magic, "1.0", std::string("secret\0", 7))),
           framed(greeting(magic, "1.0", std::string("\0\0\0\0\0\0", 6))),
           framed(greeting(magic, "0.9", "")),  // another version
           framed(greeting(magic, "0.9", "guess", "another command", 7, 9)),
           framed(greeting("deepbench rank 2", "2.0", "guess")),
           framed(greeting("deepbench rank 1 and more", "1.0", "guess")),
           framed(greeting("deepbench", "1.0", "secret")),
           framed(Packer().text(magic).text("0.9").bytes()),  // no secret, as no version greets
           framed(greeting(magic, "1.0", "secret")).substr(0, 40),  // half a greeting
           framed(greeting(magic, "1.0", "secret").substr(0, 50)),  // all of half a greeting
       }) {
    CAPTURE(packet);
    check_strangers_ignored({packet});
  }
}

TEST_CASE("a crowd of silent strangers holds up no rank") {
  // One after the other they would have five seconds each, of the thirty that rank 0 waits.
  check_strangers_ignored(std::vector<std::string>(40, ""));
}

TEST_CASE("strangers that take every place at the door hold up no rank") {
  check_strangers_ignored(std::vector<std::string>(300, "half"));
}

TEST_CASE("a rank of another version that knows the secret is told why it is refused") {
  for (const std::string magic : {"deepbench rank 1", "deepbench rank 2"}) {
    Rendezvous first(environment_of(0, 2, 0), kIdentity);
    const Socket other = connect_stranger(first.port(), framed(greeting(magic, "0.9", "secret")));
    const std::string reason =
        "a rank runs deepbench 0.9, rank 0 runs 1.0: all ranks must run the same version";
    CHECK(wait_for_group(first).refusal == reason);
    { const Rendezvous closed = std::move(first); }
    CHECK(answer_to(other) == framed(Packer().text(reason).bytes()));
  }
}

TEST_CASE("without a secret, rank 0 alone says what it was asked for") {
  LaunchEnvironment place = environment_of(0, 2, 0);
  place.secret.clear();
  Rendezvous first(place, kIdentity);
  const Socket other =
      connect_stranger(first.port(), framed(greeting("deepbench rank 1", "1.0", "", "gemm")));
  CHECK(wait_for_group(first).refusal ==
        "rank 1 runs 'gemm', rank 0 runs 'all_reduce half': all ranks must run the same command");
  { const Rendezvous closed = std::move(first); }
  const std::string answer =
      "rank 1 runs 'gemm', rank 0 runs another command: all ranks must run the same command";
  CHECK(answer_to(other) == framed(Packer().text(answer).bytes()));
}

TEST_CASE("a port that is taken is said with the variable that names another") {
  const Rendezvous first(environment_of(0, 2, 0), kIdentity);
  try {
    const Rendezvous again(environment_of(0, 2, first.port()), kIdentity);
    FAIL("two listen on one port");
  } catch (const BackendUnavailable& error) {
    CHECK(std::string(error.what()).find("MASTER_PORT") != std::string::npos);
  }
}

}  // namespace
}  // namespace deepbench
