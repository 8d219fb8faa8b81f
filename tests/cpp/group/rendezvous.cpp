// Tests that ranks connect, or that all of them are told the reason why they cannot.
#include "deepbench/group/rendezvous.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deepbench/core/blake2s.hpp"
#include "deepbench/group/handshake.hpp"
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

// Connects rank 0 of two and a process with this place and identity.
TwoOutcomes connect_two(int rank, int size, const LaunchIdentity& identity) {
  TwoOutcomes both;
  Rendezvous first(environment_of(0, 2, 0), kIdentity);
  std::thread thread([&] {
    Rendezvous second(environment_of(rank, size, first.port()), identity);
    both.second = wait_for_group(second);
  });
  both.first = wait_for_group(first);
  // closes the port, so that no further connection waits
  { const Rendezvous closed = std::move(first); }
  thread.join();
  return both;
}

void check_rejected(const TwoOutcomes& both, const std::string& reason) {
  CHECK(both.first.rejection == reason);
  CHECK(both.second.rejection == reason);
}

TEST_CASE("ranks know their own place and the other members") {
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

TEST_CASE("ranks that do not match are rejected on both sides") {
  check_rejected(connect_two(1, 2, {"1.1", "all_reduce half"}),
                 "a rank runs deepbench 1.1, rank 0 runs 1.0: all ranks must run the same version");
  check_rejected(
      connect_two(1, 2, {"1.0", "all_reduce float"}),
      "rank 1 runs 'all_reduce float', rank 0 runs 'all_reduce half': all ranks must run "
      "the same command");
  check_rejected(connect_two(1, 3, kIdentity), "rank 1 expects 3 ranks, rank 0 expects 2");
}

TEST_CASE("two processes with the same rank are rejected") {
  Rendezvous first(environment_of(0, 3, 0), kIdentity);
  std::array<RendezvousOutcome, 2> twins;
  std::vector<std::thread> threads;
  for (RendezvousOutcome& twin : twins)
    threads.emplace_back([&] {
      Rendezvous rendezvous(environment_of(1, 3, first.port()), kIdentity);
      twin = wait_for_group(rendezvous);
    });
  const std::string rejection = wait_for_group(first).rejection;
  for (std::thread& thread : threads) thread.join();
  CHECK(rejection == "two processes claim to be rank 1");
  for (const RendezvousOutcome& twin : twins) CHECK(twin.rejection == rejection);
}

TEST_CASE("a rank that does not connect is named") {
  Rendezvous first(environment_of(0, 4, 0, 0.2), kIdentity);
  const std::string rejection = wait_for_group(first).rejection;
  CHECK(rejection == "ranks 1 2 3 of 4 did not connect to 127.0.0.1:" +
                         std::to_string(first.port()) + " within 0.2 s");
}

TEST_CASE("a missing rank 0 is named") {
  const int port = Rendezvous(environment_of(0, 2, 0), kIdentity).port();  // the port is free again
  Rendezvous second(environment_of(1, 2, port, 0.2), kIdentity);
  const std::string rejection = wait_for_group(second).rejection;
  CHECK(rejection.find("rank 1: rank 0 at 127.0.0.1:" + std::to_string(port) +
                       " does not answer: ") == 0);
  CHECK(rejection.find("within 0.2 s") != std::string::npos);
}

// The fields of a greeting, as in every version.
std::string greeting_fields(const std::string& magic, const std::string& version) {
  return Packer().text(magic).text(version).text(std::string(16, 'n')).bytes();
}

std::string with_code(const std::string& fields, const std::string& secret) {
  const std::string hashed = secret.empty() ? "" : blake2s("", secret, 32);
  return fields + blake2s(blake2s(hashed, "greeting", 32), fields, 16);
}

std::string greeting(const std::string& magic, const std::string& version,
                     const std::string& secret) {
  return with_code(greeting_fields(magic, version), secret);
}

// Rank 0's answer to a greeting, which ends with a code.
std::string without_code(const std::string& answer) {
  return answer.substr(0, answer.size() - std::min<size_t>(answer.size(), 16));
}

std::string framed(const std::string& message) {
  const uint64_t size = message.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + message;
}

// Opens a connection and sends these bytes.
Socket connect_stranger(int port, const std::string& bytes) {
  Deadline deadline(20);
  Socket socket = Socket::connect("127.0.0.1", port, deadline);
  size_t sent = 0;
  while (sent < bytes.size()) {  // rank 0 may close the connection meanwhile
    const ssize_t got =
        send(socket.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (got < 0 && errno == EAGAIN && deadline.left_s() > 0) continue;
    if (got <= 0) break;
    sent += size_t(got);
  }
  return socket;
}

constexpr const char* kNotClosed = "rank 0 did not close the connection";

// The bytes that rank 0 sends to a stranger until it closes the connection.
std::string answer_to(const Socket& stranger) {
  std::string answer;
  while (stranger.is_readable(20000)) {
    char byte = 0;
    if (recv(stranger.descriptor(), &byte, 1, 0) <= 0) return answer;
    answer += byte;
  }
  return kNotClosed;
}

std::string random_bytes(size_t count) {
  std::mt19937 engine(7);
  std::string bytes(count, '\0');
  for (char& byte : bytes) byte = static_cast<char>(engine());
  return bytes;
}

// Strangers connect first, then the expected rank.
void check_strangers_ignored(const std::vector<std::string>& packets) {
  Rendezvous first(environment_of(0, 2, 0), kIdentity);
  std::vector<Socket> strangers;
  for (const std::string& packet : packets)
    strangers.push_back(connect_stranger(first.port(), packet));
  RendezvousOutcome second;
  std::thread thread([&] {
    Rendezvous rendezvous(environment_of(1, 2, first.port()), kIdentity);
    second = wait_for_group(rendezvous);
  });
  CHECK(wait_for_group(first).rejection == "");
  thread.join();
  CHECK(second.rejection == "");
  for (const Socket& stranger : strangers) CHECK(answer_to(stranger) == "");
}

TEST_CASE("a stranger's message gets no answer and has no effect, whatever it contains") {
  const std::string magic = "deepbench rank 3";
  for (const std::string& packet : {
           std::string(),  // no message
           std::string("\0", 1),
           std::string("GET / HTTP/1.1\r\n\r\n"),
           random_bytes(7),
           random_bytes(100000),
           std::string(8, '\0'),    // an empty message
           std::string(8, '\xff'),  // an endless message
           framed(random_bytes(5000)),
           framed(greeting(magic, "1.0", "")),
           framed(greeting(magic, "1.0", "secre")),
           framed(greeting(magic, "1.0", "secret\n")),
           framed(greeting(magic, "1.0", std::string("secret\0", 7))),
           framed(greeting(magic, "1.0", std::string("\0\0\0\0\0\0", 6))),
           framed(greeting(magic, "0.9", "")),  // another version
           framed(greeting(magic, "0.9", "guess")),
           framed(greeting("deepbench rank 4", "2.0", "guess")),
           framed(greeting("deepbench rank 3 and more", "1.0", "guess")),
           framed(greeting("deepbench", "1.0", "secret")),
           framed(Packer().text(magic).text("0.9").bytes()),  // no code
           framed(with_code(Packer().text(magic).text("0.9").bytes(), "secret")),
           framed(with_code("", "secret")),
           framed(greeting_fields(magic, "1.0") + std::string(16, 'c')),
           // the secret itself instead of a code
           framed(greeting_fields(magic, "1.0") + "secret"),
           framed(greeting(magic, "1.0", "secret")).substr(0, 40),  // a partial message
           // a complete message with a partial greeting
           framed(greeting(magic, "1.0", "secret").substr(0, 50)),
       }) {
    CAPTURE(packet);
    check_strangers_ignored({packet});
  }
}

TEST_CASE("many silent strangers delay no rank") {
  // If they were served one after another, each would take five of the thirty seconds that rank 0
  // waits.
  check_strangers_ignored(std::vector<std::string>(40, ""));
}

TEST_CASE("strangers that fill the list of pending connections delay no rank") {
  check_strangers_ignored(std::vector<std::string>(300, "half"));
}

// A rank whose messages the test sends one by one.
class ManualRank {
 public:
  ManualRank(int port, const std::string& process, LaunchIdentity identity = kIdentity,
             const std::string& secret = "secret")
      : socket_(Socket::connect("127.0.0.1", port, deadline_)) {
    const Greeting greeting = {std::string(kHandshake), identity.version, random_nonce()};
    socket_.send(greeting_text(greeting, secret), deadline_);
    socket_.authenticate(challenge_key(secret, greeting.nonce), ConnectionEnd::kOtherRank);
    challenge_ = [this, process, identity, secret, nonce = greeting.nonce](int rank, int size) {
      const std::string answer = parse_challenge(receive());
      socket_.authenticate(session_key(secret, nonce, answer), ConnectionEnd::kOtherRank);
      send(introduction_text(
          {rank, size, process, "a host", hash_of_command(identity.command), identity.command}));
    };
  }

  void introduce(int rank, int size) { challenge_(rank, size); }
  Welcome welcome(int size) { return parse_welcome(receive(), size); }
  void send(const std::string& message) { socket_.send(message, deadline_); }
  void leave() { socket_ = Socket(); }
  bool is_closed() {
    try {
      receive();
    } catch (const ConnectionTimeout&) {
      return false;
    } catch (const ConnectionError&) {
      return true;
    }
    return false;
  }

 private:
  std::string receive() { return socket_.receive(1 << 20, deadline_); }

  Deadline deadline_{20};
  Socket socket_;
  std::function<void(int, int)> challenge_;
};

// A rank 0 that waits on a thread of its own.
class WaitingRankZero {
 public:
  explicit WaitingRankZero(const LaunchEnvironment& environment)
      : rendezvous_(environment, kIdentity), port_(rendezvous_.port()) {
    thread_ = std::thread([this] { outcome_ = wait_for_group(rendezvous_); });
  }
  ~WaitingRankZero() {
    if (thread_.joinable()) thread_.join();
  }
  int port() const { return port_; }
  const RendezvousOutcome& outcome() {
    if (thread_.joinable()) thread_.join();
    return outcome_;
  }

 private:
  Rendezvous rendezvous_;
  int port_;
  RendezvousOutcome outcome_;
  std::thread thread_;
};

// Real ranks that connect on threads of their own.
class RealRanks {
 public:
  void start(int rank, int size, int port) {
    outcomes_.push_back(std::make_unique<RendezvousOutcome>());
    threads_.emplace_back([=, outcome = outcomes_.back().get()] {
      Rendezvous rendezvous(environment_of(rank, size, port), kIdentity);
      *outcome = wait_for_group(rendezvous);
    });
  }
  ~RealRanks() { check_joined(); }
  void check_joined() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    for (const auto& outcome : outcomes_) CHECK(outcome->rejection == "");
  }

 private:
  std::vector<std::unique_ptr<RendezvousOutcome>> outcomes_;
  std::vector<std::thread> threads_;
};

// Rank 0 tells a process with another secret nothing, and goes on to wait for its rank.
void check_unanswered(const LaunchIdentity& identity, const std::string& secret) {
  WaitingRankZero first(environment_of(0, 2, 0));
  LaunchEnvironment environment = environment_of(1, 2, first.port(), 0.5);
  environment.secret = secret;
  Rendezvous other(environment, identity);
  const std::string rejection = wait_for_group(other).rejection;
  CHECK(rejection.find("rank 1: rank 0 at 127.0.0.1:") == 0);
  CHECK(rejection.find("same version") == std::string::npos);
  CHECK(rejection.find("DEEPBENCH_RANKS_SECRET must be the same") != std::string::npos);
  RealRanks ranks;
  ranks.start(1, 2, first.port());
  CHECK(first.outcome().rejection == "");
}

TEST_CASE("a rank with another secret gets no answer and has no effect") {
  check_unanswered(kIdentity, "another secret");
}

TEST_CASE("a rank of another version learns the reason only if it knows the secret") {
  check_unanswered({"0.9", "all_reduce half"}, "");
}

// Connections are refused once rank 0 has reached its limit, which says less.
TEST_CASE("a rank with another secret is told so, also if rank 0 reaches its limit first") {
  auto first = std::make_unique<Rendezvous>(environment_of(0, 2, 0, 1), kIdentity);
  LaunchEnvironment environment = environment_of(1, 2, first->port(), 2);
  environment.secret = "another secret";
  RendezvousOutcome other;
  std::atomic<bool> has_begun{false};
  std::thread thread([&] {
    Rendezvous second(environment, kIdentity);
    has_begun = true;
    other = wait_for_group(second);
  });
  while (!has_begun) std::this_thread::yield();
  CHECK(wait_for_group(*first).rejection.find("rank 1 of 2 did not connect") == 0);
  first.reset();
  thread.join();
  CHECK(other.rejection.find(" closed the connection, within 2 s; DEEPBENCH_RANKS_SECRET must") !=
        std::string::npos);
}

// The complete first message of a connection.
std::string first_message(const Socket& connection) {
  std::string bytes;
  uint64_t size = 0;
  while (bytes.size() < sizeof size || bytes.size() < sizeof size + size) {
    char byte = 0;
    REQUIRE(connection.is_readable(20000));
    REQUIRE(recv(connection.descriptor(), &byte, 1, 0) == 1);
    bytes += byte;
    if (bytes.size() == sizeof size) std::memcpy(&size, bytes.data(), sizeof size);
  }
  return bytes;
}

Socket accepted(const Socket& listener) {
  REQUIRE(listener.is_readable(20000));
  bool out_of_descriptors = false;
  return listener.accept(&out_of_descriptors);
}

TEST_CASE("a greeting that a stranger has recorded takes no place and tells no command") {
  std::string recorded;
  int port = 0;
  RealRanks ranks;
  {
    const Socket stranger = Socket::listen("127.0.0.1", 0);
    port = stranger.port();
    ranks.start(1, 2, port);
    recorded = first_message(accepted(stranger));
  }
  CHECK(recorded.find("all_reduce") == std::string::npos);
  for (const bool is_first : {true, false}) {  // the rank's own run, and a later one
    Rendezvous first(environment_of(0, 2, is_first ? port : 0), kIdentity);
    const Socket stranger = connect_stranger(first.port(), recorded + recorded);
    if (!is_first) ranks.start(1, 2, first.port());
    CHECK(wait_for_group(first).rejection == "");
    const std::string answer = answer_to(stranger);
    CHECK(answer != kNotClosed);
    CHECK(answer.find("all_reduce") == std::string::npos);
    ranks.check_joined();
  }
}

// What a rank sends in another connection, with other random numbers.
std::string recorded_session() {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  Socket rank = Socket::inherited(pair[0]);
  const Socket wire = Socket::inherited(pair[1]);
  Deadline deadline(20);
  const std::string nonce(16, 'n');
  rank.send(greeting_text({std::string(kHandshake), "1.0", nonce}, "secret"), deadline);
  rank.authenticate(session_key("secret", nonce, random_nonce()), ConnectionEnd::kOtherRank);
  rank.send(introduction_text({1, 2, "p", "h", hash_of_command(kIdentity.command), "all_reduce"}),
            deadline);
  rank.send(confirmation_text(1), deadline);
  std::string bytes(4096, '\0');
  bytes.resize(size_t(recv(wire.descriptor(), bytes.data(), bytes.size(), 0)));
  return bytes;
}

TEST_CASE("a session that a stranger has recorded takes no place") {
  Rendezvous first(environment_of(0, 2, 0), kIdentity);
  const Socket stranger = connect_stranger(first.port(), recorded_session());
  RealRanks ranks;
  ranks.start(1, 2, first.port());
  CHECK(wait_for_group(first).rejection == "");
}

TEST_CASE("many strangers with a recorded greeting delay no rank") {
  Rendezvous first(environment_of(0, 2, 0), kIdentity);
  std::vector<Socket> strangers;
  for (int i = 0; i < 300; ++i)
    strangers.push_back(
        connect_stranger(first.port(), framed(greeting("deepbench rank 3", "1.0", "secret"))));
  RealRanks ranks;
  ranks.start(1, 2, first.port());
  CHECK(wait_for_group(first).rejection == "");
}

TEST_CASE("the place of a rank that leaves before all have come is free again") {
  WaitingRankZero first(environment_of(0, 3, 0));
  ManualRank gone(first.port(), "a process");
  gone.introduce(1, 3);
  gone.leave();
  RealRanks ranks;
  ranks.start(2, 3, first.port());
  ranks.start(1, 3, first.port());
  CHECK(first.outcome().rejection == "");
}

TEST_CASE("a rank that leaves in place of a confirmation is replaced, and all begin") {
  WaitingRankZero first(environment_of(0, 3, 0));
  RealRanks ranks;
  ranks.start(2, 3, first.port());
  ManualRank gone(first.port(), "a process");
  gone.introduce(1, 3);
  CHECK(gone.welcome(3).members.size() == 3);
  gone.leave();
  ranks.start(1, 3, first.port());
  CHECK(first.outcome().rejection == "");
}

TEST_CASE("a process that connects again takes its own place") {
  WaitingRankZero first(environment_of(0, 2, 0));
  ManualRank old(first.port(), "a process"), again(first.port(), "a process");
  old.introduce(1, 2);
  CHECK(old.welcome(2).number == 1);
  again.introduce(1, 2);
  const Welcome welcome = again.welcome(2);
  CHECK(welcome.number == 2);
  CHECK(old.is_closed());
  again.send(confirmation_text(1));  // of a welcome that is void
  again.send(confirmation_text(welcome.number));
  CHECK(again.welcome(2).number == Welcome::kBegin);
  CHECK(first.outcome().rejection == "");
}

TEST_CASE("a rank that does not confirm loses its place") {
  WaitingRankZero first(environment_of(0, 2, 0, 1));
  ManualRank silent(first.port(), "a process");
  silent.introduce(1, 2);
  CHECK(silent.welcome(2).number == 1);
  CHECK(silent.is_closed());
  CHECK(first.outcome().rejection ==
        "rank 1 of 2 did not connect to 127.0.0.1:" + std::to_string(first.port()) +
            " within 1 s; rank 1 was silent before all ranks had "
            "connected");
}

TEST_CASE("a false rank 0 is named, and the times in the message agree") {
  const Socket listener = Socket::listen("127.0.0.1", 0);
  Rendezvous second(environment_of(1, 2, listener.port(), 0.3), kIdentity);
  CHECK(wait_for_group(second).rejection ==
        "rank 1: rank 0 at 127.0.0.1:" + std::to_string(listener.port()) +
            " sent no answer, within 0.3 s; DEEPBENCH_RANKS_SECRET must be the same on all ranks");
}

std::string other_version_reason() {
  return "a rank runs deepbench 0.9, rank 0 runs 1.0: all ranks must run the same version";
}

TEST_CASE("a rank of another version that proves the secret is told the reason") {
  WaitingRankZero first(environment_of(0, 2, 0));
  ManualRank other(first.port(), "a process", {"0.9", kIdentity.command});
  other.introduce(1, 2);
  CHECK_THROWS_WITH_AS(other.welcome(2), other_version_reason().c_str(), BackendUnavailable);
  CHECK(first.outcome().rejection == other_version_reason());
}

TEST_CASE("a rank with another handshake is told the reason, and its greeting alone ends nothing") {
  for (const std::string magic : {"deepbench rank 1", "deepbench rank 2", "deepbench rank 4"}) {
    WaitingRankZero first(environment_of(0, 2, 0, 1));
    const Socket other = connect_stranger(first.port(), framed(greeting(magic, "0.9", "secret")));
    CHECK(without_code(answer_to(other)) == framed(Packer().text(other_version_reason()).bytes()));
    const std::string rejection = first.outcome().rejection;
    CHECK(rejection.find("rank 1 of 2 did not connect") == 0);
    CHECK(rejection.find("; " + other_version_reason()) != std::string::npos);
  }
}

TEST_CASE("without a secret, a rank with another handshake ends the run at once") {
  LaunchEnvironment environment = environment_of(0, 2, 0);
  environment.secret.clear();
  WaitingRankZero first(environment);
  const Socket other =
      connect_stranger(first.port(), framed(greeting("deepbench rank 2", "0.9", "")));
  CHECK(first.outcome().rejection == other_version_reason());
  CHECK(without_code(answer_to(other)) == framed(Packer().text(other_version_reason()).bytes()));
}

TEST_CASE("without a secret, only rank 0's message names rank 0's command") {
  LaunchEnvironment environment = environment_of(0, 2, 0);
  environment.secret.clear();
  WaitingRankZero first(environment);
  ManualRank other(first.port(), "a process", {"1.0", "gemm"}, "");
  other.introduce(1, 2);
  CHECK_THROWS_WITH_AS(
      other.welcome(2),
      "rank 1 runs 'gemm', rank 0 runs another command: all ranks must run the same command",
      BackendUnavailable);
  CHECK(first.outcome().rejection ==
        "rank 1 runs 'gemm', rank 0 runs 'all_reduce half': all ranks must run the same command");
}

TEST_CASE("commands that differ behind what a message shows are found to differ") {
  const std::string begin(1000, 'x');
  Rendezvous first(environment_of(0, 2, 0), {"1.0", begin + "a"});
  std::thread thread([&] {
    Rendezvous second(environment_of(1, 2, first.port()), {"1.0", begin + "b"});
    CHECK(wait_for_group(second).rejection.find("all ranks must run the same command") !=
          std::string::npos);
  });
  CHECK(wait_for_group(first).rejection.find("rank 1 runs 'xxx") == 0);
  thread.join();
}

TEST_CASE("ranks that inherit connections have no port") {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  LaunchEnvironment zero = environment_of(0, 2, 0), one = environment_of(1, 2, 0);
  zero.sockets = {pair[0]}, one.sockets = {pair[1]};
  Rendezvous first(zero, kIdentity), second(one, kIdentity);
  CHECK(first.port() == 0);
  CHECK(first.warning() == "");
  RendezvousOutcome outcome;
  std::thread thread([&] { outcome = wait_for_group(second); });
  const RendezvousOutcome outcome_of_zero = wait_for_group(first);
  thread.join();
  REQUIRE(outcome_of_zero.rejection == "");
  REQUIRE(outcome.rejection == "");
  CHECK(outcome.group->members()[0].address == "127.0.0.1");
  CHECK(outcome.group->self().address == "127.0.0.1");
  outcome_of_zero.group->broadcast_row("a row");
  CHECK(outcome.group->next_row() == "a row");
}

TEST_CASE("an inherited connection that is closed or none is an error at once") {
  LaunchEnvironment one = environment_of(1, 2, 0);
  one.sockets = {open("/dev/null", O_RDONLY)};
  Rendezvous nothing(one, kIdentity);
  CHECK(wait_for_group(nothing).rejection.find("is no connected socket") != std::string::npos);
  close(one.sockets[0]);
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  close(pair[0]);
  one.sockets = {pair[1]};
  Rendezvous closed(one, kIdentity);
  CHECK(wait_for_group(closed).rejection.find("rank 0 at this machine closed the connection") !=
        std::string::npos);
}

TEST_CASE("rank 0 listens at the address of its name and at no other") {
  LaunchEnvironment environment = environment_of(0, 2, 0, 0.2);
  environment.address = "localhost";
  Rendezvous first(environment, kIdentity);
  Deadline deadline(0.2);
  CHECK(Socket::connect("localhost", first.port(), deadline).is_open());
  CHECK(first.warning() == "");
  environment.address = "192.0.2.1";  // belongs to no machine
  try {
    const Rendezvous elsewhere(environment, kIdentity);
    FAIL("listens at the address of another machine");
  } catch (const BackendUnavailable& error) {
    CHECK(std::string(error.what()).find("MASTER_ADDR must name an address of this machine") !=
          std::string::npos);
  }
}

TEST_CASE("with several addresses, rank 0 listens at all of them") {
  LaunchEnvironment environment = environment_of(0, 2, 0, 0.2);
  environment.further_addresses = {"192.0.2.1"};
  Rendezvous first(environment, kIdentity);
  for (const char* address : {"127.0.0.1", "127.0.0.2"}) {
    Deadline deadline(1);
    CHECK(Socket::connect(address, first.port(), deadline).is_open());
  }
  CHECK(wait_for_group(first).rejection.find(
            "rank 1 of 2 did not connect to 127.0.0.1:" + std::to_string(first.port()) +
            ", 192.0.2.1:" + std::to_string(first.port())) == 0);
}

// Closes each connection to it.
class Stranger {
 public:
  Stranger(const std::string& address, int port)
      : listener_(Socket::listen(address, port)), thread_([this] { serve(); }) {}
  ~Stranger() {
    ended_ = true;
    thread_.join();
  }
  bool was_asked() const { return was_asked_; }

 private:
  void serve() {
    bool out_of_descriptors = false;
    while (!ended_)
      if (listener_.is_readable(10) && listener_.accept(&out_of_descriptors).is_open())
        was_asked_ = true;
  }
  Socket listener_;
  std::atomic<bool> ended_{false}, was_asked_{false};
  std::thread thread_;
};

TEST_CASE("a rank tries the addresses of rank 0 in turn, past one that belongs to a stranger") {
  Rendezvous first(environment_of(0, 2, 0), kIdentity);
  const Stranger stranger("127.0.0.3", first.port());
  LaunchEnvironment environment = environment_of(1, 2, first.port());
  environment.address = "127.0.0.2";  // nobody listens there
  environment.further_addresses = {"127.0.0.3", "127.0.0.1"};
  RendezvousOutcome outcome;
  std::thread thread([&] {
    Rendezvous second(environment, kIdentity);
    outcome = wait_for_group(second);
  });
  const RendezvousOutcome of_first = wait_for_group(first);
  thread.join();
  CHECK(of_first.rejection == "");
  REQUIRE(outcome.rejection == "");
  CHECK(outcome.group->rank() == 1);
  CHECK(stranger.was_asked());
}

TEST_CASE("a name that does not resolve is said on each rank, in one printable line") {
  LaunchEnvironment environment = environment_of(0, 2, 4711, 0.2);
  environment.address = "no\n\x1b[31mhost";
  try {
    const Rendezvous first(environment, kIdentity);
    FAIL("listens at an unknown address");
  } catch (const BackendUnavailable& error) {
    CHECK(std::string(error.what())
              .find("rank 0 of 2 cannot listen on port 4711 of "
                    "'no??[31mhost': the name does not resolve: ") == 0);
  }
  environment.rank = 1;
  Rendezvous second(environment, kIdentity);
  CHECK(wait_for_group(second).rejection.find(
            "rank 1: rank 0 at no??[31mhost:4711 has a name that does not resolve: ") == 0);
}

TEST_CASE("a missing secret is said where other machines reach rank 0") {
  LaunchEnvironment environment = environment_of(0, 2, 0);
  environment.address = "0.0.0.0";
  CHECK(Rendezvous(environment, kIdentity).warning() == "");
  environment.secret.clear();
  CHECK(Rendezvous(environment, kIdentity).warning().find("set DEEPBENCH_RANKS_SECRET") !=
        std::string::npos);
  environment.address = "127.0.0.1";
  CHECK(Rendezvous(environment, kIdentity).warning() == "");
}

TEST_CASE("the message about a port in use names the variable that selects another") {
  const Rendezvous first(environment_of(0, 2, 0), kIdentity);
  try {
    const Rendezvous again(environment_of(0, 2, first.port()), kIdentity);
    FAIL("two sockets listen on one port");
  } catch (const BackendUnavailable& error) {
    CHECK(std::string(error.what()).find("MASTER_PORT") != std::string::npos);
  }
}

}  // namespace
}  // namespace deepbench
