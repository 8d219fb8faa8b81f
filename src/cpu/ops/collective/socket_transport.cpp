// Sends and receives at the same time in one thread, over non-blocking sockets.
#include "ops/collective/socket_transport.hpp"

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
#include <vector>

#include "timing.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kPieceBytes = 256 << 10;  // A piece stays in the cache until it is added.
constexpr int kConnectMs = 10000, kPollMs = 200;
constexpr int kBacklog = 1024;
constexpr size_t kMaxPending = 128;  // silent connections beyond these are closed, the oldest first

[[noreturn]] void throw_device_lost(const std::string& reason) {
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

// The address at which a rank's left neighbor connects, and the key that proves the neighbor's
// identity.
struct Endpoint {
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
    throw_device_lost(std::string("a rank sent an invalid address: ") + address);
  return AddressList(found, &freeaddrinfo);
}

Connection listen_at(const std::string& address, int32_t* port) {
  const AddressList where = numeric_address(address.c_str(), 0);
  Connection listener(socket(where->ai_family, SOCK_STREAM, 0));
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (listener.descriptor() < 0 ||
      bind(listener.descriptor(), where->ai_addr, where->ai_addrlen) != 0 ||
      listen(listener.descriptor(), kBacklog) != 0 ||
      getsockname(listener.descriptor(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    plugin::failed("cannot listen for its left neighbor at " + address + ": " + last_error());
  prepare_stream(listener.descriptor());
  *port =
      ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&bound)->sin6_port
                                        : reinterpret_cast<const sockaddr_in*>(&bound)->sin_port);
  return listener;
}

Connection connect_to(const Endpoint& endpoint) {
  const AddressList where = numeric_address(endpoint.address, endpoint.port);
  Connection right(socket(where->ai_family, SOCK_STREAM, 0));
  prepare_stream(right.descriptor());
  int error = 0;
  socklen_t size = sizeof error;
  if (connect(right.descriptor(), where->ai_addr, where->ai_addrlen) != 0) {
    if (errno != EINPROGRESS || !is_ready(right.descriptor(), POLLOUT, kConnectMs) ||
        getsockopt(right.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0)
      throw_device_lost(std::string("its right neighbor at ") + endpoint.address +
                        " cannot be reached");
  }
  if (send(right.descriptor(), &endpoint.key, sizeof endpoint.key, MSG_NOSIGNAL) !=
      sizeof endpoint.key)
    throw_device_lost("its right neighbor closed the connection");
  return right;
}

// A connection that has sent a part of its key, or nothing.
struct Pending {
  Connection connection;
  char key[sizeof(uint64_t)] = {};
  size_t received = 0;
};

// Reads the bytes that have arrived. Returns false if the connection has ended.
bool receive_key(Pending& pending) {
  const ssize_t got = recv(pending.connection.descriptor(), pending.key + pending.received,
                           sizeof pending.key - pending.received, 0);
  if (got > 0) pending.received += size_t(got);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

bool has_key(const Pending& pending, uint64_t key) {
  return pending.received == sizeof key && std::memcmp(pending.key, &key, sizeof key) == 0;
}

// Accepts the connection that sends the key. All connections are read concurrently, so that silent
// ones, which may come from strangers, delay no neighbor.
Connection accept_left_neighbor(const Connection& listener, uint64_t key) {
  std::vector<Pending> all;
  const Clock::time_point begin = Clock::now();
  while (elapsed_ns(begin, Clock::now()) < kConnectMs * 1e6) {
    std::vector<pollfd> polled = {{listener.descriptor(), POLLIN, 0}};
    for (const Pending& one : all) polled.push_back({one.connection.descriptor(), POLLIN, 0});
    if (poll(polled.data(), nfds_t(polled.size()), kPollMs) <= 0) continue;
    for (size_t i = all.size(); i-- > 0;) {
      if (!polled[i + 1].revents) continue;
      const bool open = receive_key(all[i]);
      if (has_key(all[i], key)) return std::move(all[i].connection);
      if (!open || all[i].received == sizeof key) all.erase(all.begin() + ptrdiff_t(i));
    }
    Connection accepted(polled[0].revents ? accept(listener.descriptor(), nullptr, nullptr) : -1);
    if (accepted.descriptor() < 0) continue;
    prepare_stream(accepted.descriptor());
    if (all.size() == kMaxPending) all.erase(all.begin());
    all.push_back({std::move(accepted)});
  }
  throw_device_lost("its left neighbor did not connect");
}

}  // namespace

Connection::~Connection() {
  if (descriptor_ >= 0) close(descriptor_);
}

Connection& Connection::operator=(Connection&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

SocketTransport::SocketTransport(Connection right, Connection left, double timeout_s)
    : right_(std::move(right)), left_(std::move(left)), timeout_s_(timeout_s), piece_(kPieceBytes) {
  prepare_stream(right_.descriptor());
  prepare_stream(left_.descriptor());
}

struct SocketTransport::Transfer {
  const std::byte* out;
  uint64_t out_left, in_left;
  // `taken` is the number of bytes passed to consume(), and `held` the number that wait in piece_.
  uint64_t taken = 0, held = 0;
};

bool SocketTransport::send(Transfer& transfer) {
  if (transfer.out_left == 0) return false;
  const ssize_t sent = ::send(right_.descriptor(), transfer.out, transfer.out_left, MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
    throw_device_lost("its right neighbor closed the connection");
  if (sent <= 0) return false;
  transfer.out += sent, transfer.out_left -= uint64_t(sent);
  return true;
}

bool SocketTransport::receive(Transfer& transfer, const Consumer& consume) {
  if (transfer.in_left == 0) return false;
  const uint64_t room = std::min(piece_.size() - transfer.held, transfer.in_left);
  const ssize_t got = recv(left_.descriptor(), piece_.data() + transfer.held, room, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
    throw_device_lost("its left neighbor closed the connection");
  if (got < 0) return false;
  transfer.held += uint64_t(got), transfer.in_left -= uint64_t(got);
  const uint64_t whole = transfer.in_left == 0 ? transfer.held : transfer.held / 4 * 4;
  if (whole > 0) consume(piece_.data(), transfer.taken, whole);
  std::memmove(piece_.data(), piece_.data() + whole, transfer.held - whole);
  transfer.taken += whole, transfer.held -= whole;
  return true;
}

void SocketTransport::wait(const Transfer& transfer) const {
  pollfd both[] = {{transfer.in_left ? left_.descriptor() : -1, POLLIN, 0},
                   {transfer.out_left ? right_.descriptor() : -1, POLLOUT, 0}};
  const Clock::time_point begin = Clock::now();
  while (poll(both, 2, kPollMs) <= 0) {
    if (plugin::ranks().must_abort())
      throw_device_lost("the call stopped because another rank has failed");
    if (elapsed_ns(begin, Clock::now()) > timeout_s_ * 1e9)
      throw_device_lost("its neighbors sent no data within the timeout");
  }
}

void SocketTransport::send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                                   const Consumer& consume) {
  Transfer transfer{out, out_bytes, in_bytes};
  while (transfer.out_left || transfer.in_left) {
    const bool sent = send(transfer), received = receive(transfer, consume);
    if (!sent && !received) wait(transfer);
  }
}

NeighborConnections connect_neighbors(const plugin::Ranks& ranks) {
  Endpoint local{};
  ranks.address().copy(local.address, sizeof local.address - 1);
  std::random_device random;
  local.key = (uint64_t(random()) << 32) | random();
  const Connection listener = listen_at(ranks.address(), &local.port);
  const std::vector<Endpoint> endpoints = ranks.exchange(local);
  NeighborConnections connections;
  for (const Endpoint& endpoint : endpoints) connections.keys.push_back(endpoint.key);
  connections.right = connect_to(endpoints[size_t(ranks.right())]);
  connections.left = accept_left_neighbor(listener, local.key);
  return connections;
}

std::unique_ptr<RingTransport> connect_sockets(const plugin::Ranks& ranks) {
  NeighborConnections connections = connect_neighbors(ranks);
  return std::make_unique<SocketTransport>(std::move(connections.right),
                                           std::move(connections.left), kSilenceLimitS);
}

}  // namespace deepbench::cpu
