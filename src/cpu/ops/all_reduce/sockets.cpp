// Sending and hearing at the same time, without a thread.
#include "ops/all_reduce/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "timing.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kPieceBytes = 256 << 10;  // summed while it is still in the cache
constexpr double kSilenceS = 60;
constexpr int kConnectMs = 10000, kQuietMs = 1000, kLookMs = 200;

[[noreturn]] void lost(const std::string& reason) {
  throw plugin::Error(DEEPBENCH_DEVICE_LOST, reason);
}

std::string last_error() { return std::strerror(errno); }

void prepare_stream(int descriptor) {
  const int yes = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

bool is_ready(int descriptor, short events, int limit_ms) {
  pollfd one = {descriptor, events, 0};
  return poll(&one, 1, limit_ms) > 0;
}

// Where a rank's left neighbour finds it, and how it proves that it is the one.
struct Door {
  char address[64];
  int32_t port;
  uint64_t key;
};

using AddressList = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

AddressList numeric_address(const char* address, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  if (getaddrinfo(address, std::to_string(port).c_str(), &hints, &found) != 0)
    lost(std::string("the address of a rank is none: ") + address);
  return AddressList(found, &freeaddrinfo);
}

Connection listen_at(const std::string& address, int32_t* port) {
  const AddressList where = numeric_address(address.c_str(), 0);
  Connection listener(socket(where->ai_family, SOCK_STREAM, 0));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (listener.descriptor() < 0 ||
      bind(listener.descriptor(), where->ai_addr, where->ai_addrlen) != 0 ||
      listen(listener.descriptor(), 8) != 0 ||
      getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    plugin::failed("no socket for its neighbour at " + address + ": " + last_error());
  prepare_stream(listener.descriptor());
  *port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                        : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return listener;
}

Connection connect_to(const Door& door) {
  const AddressList where = numeric_address(door.address, door.port);
  Connection right(socket(where->ai_family, SOCK_STREAM, 0));
  prepare_stream(right.descriptor());
  int error = 0;
  socklen_t size = sizeof error;
  if (connect(right.descriptor(), where->ai_addr, where->ai_addrlen) != 0) {
    if (errno != EINPROGRESS || !is_ready(right.descriptor(), POLLOUT, kConnectMs) ||
        getsockopt(right.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
      lost(std::string("its right neighbour at ") + door.address + " cannot be reached");
  }
  if (send(right.descriptor(), &door.key, sizeof door.key, MSG_NOSIGNAL) != sizeof door.key)
    lost("its right neighbour closed the connection");
  return right;
}

// Whoever knows the key.
Connection accept_left(const Connection& listener, uint64_t key) {
  while (is_ready(listener.descriptor(), POLLIN, kConnectMs)) {
    Connection left(accept(listener.descriptor(), nullptr, nullptr));
    uint64_t got = 0;
    if (left.descriptor() < 0 || !is_ready(left.descriptor(), POLLIN, kQuietMs)) continue;
    if (recv(left.descriptor(), &got, sizeof got, 0) != sizeof got || got != key) continue;
    prepare_stream(left.descriptor());
    return left;
  }
  lost("its left neighbour did not connect");
}

}  // namespace

Connection::~Connection() {
  if (descriptor_ >= 0) close(descriptor_);
}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

SocketNeighbours::SocketNeighbours(Connection right, Connection left, double silence_s)
    : right_(std::move(right)), left_(std::move(left)), silence_s_(silence_s), piece_(kPieceBytes) {
  prepare_stream(right_.descriptor());
  prepare_stream(left_.descriptor());
}

struct SocketNeighbours::Passing {
  const std::byte* out;
  uint64_t out_left, in_left;
  uint64_t taken = 0, held = 0;  // of what came: shown, and waiting in piece_ to be
};

bool SocketNeighbours::send(Passing& now) {
  if (now.out_left == 0) return false;
  const ssize_t sent = ::send(right_.descriptor(), now.out, now.out_left, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    lost("its right neighbour closed the connection");
  if (sent <= 0) return false;
  now.out += sent, now.out_left -= uint64_t(sent);
  return true;
}

bool SocketNeighbours::receive(Passing& now, const Take& take) {
  if (now.in_left == 0) return false;
  const uint64_t room = std::min(piece_.size() - now.held, now.in_left);
  const ssize_t got = recv(left_.descriptor(), piece_.data() + now.held, room, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
    lost("its left neighbour closed the connection");
  if (got < 0) return false;
  now.held += uint64_t(got), now.in_left -= uint64_t(got);
  const uint64_t whole = now.in_left == 0 ? now.held : now.held / 4 * 4;
  if (whole > 0) take(piece_.data(), now.taken, whole);
  std::memmove(piece_.data(), piece_.data() + whole, now.held - whole);
  now.taken += whole, now.held -= whole;
  return true;
}

void SocketNeighbours::wait(const Passing& now) const {
  pollfd both[] = {{now.in_left ? left_.descriptor() : -1, POLLIN, 0},
                   {now.out_left ? right_.descriptor() : -1, POLLOUT, 0}};
  const Clock::time_point begin = Clock::now();
  while (poll(both, 2, kLookMs) <= 0) {
    if (plugin::ranks().lost()) lost("a rank has failed, and the sum was given up");
    if (elapsed_ns(begin, Clock::now()) > silence_s_ * 1e9) lost("its neighbours are silent");
  }
}

void SocketNeighbours::pass(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                            const Take& take) {
  Passing now{out, out_bytes, in_bytes};
  while (now.out_left || now.in_left) {
    const bool sent = send(now), received = receive(now, take);
    if (!sent && !received) wait(now);
  }
}

Ends connect_neighbours(const plugin::Ranks& ranks) {
  Door mine{};
  ranks.address().copy(mine.address, sizeof mine.address - 1);
  std::random_device random;
  mine.key = (uint64_t(random()) << 32) | random();
  const Connection listener = listen_at(ranks.address(), &mine.port);
  const std::vector<Door> doors = ranks.exchange(mine);
  Ends ends;
  for (const Door& door : doors) ends.keys.push_back(door.key);
  ends.right = connect_to(doors[size_t(ranks.right())]);
  ends.left = accept_left(listener, mine.key);
  return ends;
}

std::unique_ptr<Neighbours> connect_sockets(const plugin::Ranks& ranks) {
  Ends ends = connect_neighbours(ranks);
  return std::make_unique<SocketNeighbours>(std::move(ends.right), std::move(ends.left), kSilenceS);
}

}  // namespace deepbench::cpu
