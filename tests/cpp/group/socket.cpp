// Tests messages over a connection: their codes, and their memory.
#include "deepbench/group/socket.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <utility>

namespace deepbench {
namespace {

struct Ends {
  Socket rank_zero, other_rank;
};

Ends connected_ends() {
  int pair[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  return {Socket::inherited(pair[0]), Socket::inherited(pair[1])};
}

Ends authenticated_ends(const std::string& key = "a key") {
  Ends ends = connected_ends();
  ends.rank_zero.authenticate(key, ConnectionEnd::kRankZero);
  ends.other_rank.authenticate("a key", ConnectionEnd::kOtherRank);
  return ends;
}

void send(Socket& socket, const std::string& message) {
  Deadline deadline(20);
  socket.send(message, deadline);
}

std::string receive(Socket& socket) {
  Deadline deadline(20);
  return socket.receive(1 << 20, deadline);
}

// The bytes that `socket` sends for a message, taken from the other end.
std::string bytes_of_message(Socket& socket, const Socket& other, const std::string& message) {
  send(socket, message);
  std::string bytes(8 + message.size() + 16, '\0');
  REQUIRE(recv(other.descriptor(), bytes.data(), bytes.size(), 0) == ssize_t(bytes.size()));
  return bytes;
}

void put(const Socket& socket, const std::string& bytes) {
  REQUIRE(::send(socket.descriptor(), bytes.data(), bytes.size(), 0) == ssize_t(bytes.size()));
}

constexpr const char* kWrongCode = "sent a message with a wrong authentication code";

TEST_CASE("messages arrive in both directions") {
  Ends ends = authenticated_ends();
  for (const std::string message : {"", "one", "two"}) {
    send(ends.rank_zero, message);
    CHECK(receive(ends.other_rank) == message);
    send(ends.other_rank, message + " back");
    CHECK(receive(ends.rank_zero) == message + " back");
  }
}

TEST_CASE("a message is refused if it was changed, repeated, left out, returned or forged") {
  const auto check_refused = [](const auto& disturb) {
    Ends ends = authenticated_ends();
    const std::string first = bytes_of_message(ends.rank_zero, ends.other_rank, "first");
    const std::string second = bytes_of_message(ends.rank_zero, ends.other_rank, "second");
    disturb(ends, first, second);
    CHECK_THROWS_WITH_AS(receive(ends.other_rank), kWrongCode, ConnectionError);
  };
  check_refused([](const Ends& ends, std::string first, const std::string&) {
    first[8] ^= 1;
    put(ends.rank_zero, first);
  });
  check_refused([](Ends& ends, const std::string& first, const std::string&) {
    put(ends.rank_zero, first);
    CHECK(receive(ends.other_rank) == "first");
    put(ends.rank_zero, first);
  });
  check_refused([](const Ends& ends, const std::string&, const std::string& second) {
    put(ends.rank_zero, second);
  });
  check_refused([](Ends& ends, const std::string&, const std::string&) {
    put(ends.rank_zero, bytes_of_message(ends.other_rank, ends.rank_zero, "mine"));
  });
  check_refused([](const Ends& ends, const std::string& first, const std::string&) {
    put(ends.rank_zero, first.substr(0, 13) + std::string(16, '\0'));
  });
}

TEST_CASE("ends with other keys do not understand each other") {
  Ends ends = authenticated_ends("another key");
  send(ends.rank_zero, "message");
  CHECK_THROWS_WITH_AS(receive(ends.other_rank), kWrongCode, ConnectionError);
}

TEST_CASE("a length that is announced allocates no memory") {
  Ends ends = connected_ends();
  const uint64_t size = uint64_t{1} << 40;
  put(ends.rank_zero, std::string(reinterpret_cast<const char*>(&size), sizeof size) + "few bytes");
  { const Socket closed = std::move(ends.rank_zero); }
  Deadline deadline(20);
  // Under the address sanitizer, an allocation of this size would fail.
  CHECK_THROWS_WITH_AS(ends.other_rank.receive(uint64_t{1} << 50, deadline),
                       "closed the connection", ConnectionError);
}

TEST_CASE("a message that is longer than the first allocation arrives whole") {
  Ends ends = authenticated_ends();
  std::string message(300000, '\0');
  for (size_t i = 0; i < message.size(); ++i) message[i] = static_cast<char>(i * 7 >> 3);
  std::thread sender([&] { send(ends.rank_zero, message); });
  CHECK(receive(ends.other_rank) == message);
  sender.join();
}

}  // namespace
}  // namespace deepbench
