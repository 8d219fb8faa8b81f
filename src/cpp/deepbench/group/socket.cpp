// Wraps stream sockets. Every call polls and waits no longer than its deadline.
#include "deepbench/group/socket.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/blake2s.hpp"

namespace deepbench {
namespace {

// Limit of one attempt; a machine that drops packets does not answer.
constexpr double kAttemptTimeoutS = 5;
constexpr int kKeepaliveProbes = 3;
constexpr uint64_t kFirstReceivedBytes = 1 << 16;  // allocated before any byte of a message is read

std::string error_text(int error) { return std::strerror(error); }

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

// `refusal` begins the message if the name does not resolve.
Addresses resolve_address(const std::string& address, int port, int flags,
                          const std::string& refusal) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.empty() ? nullptr : address.c_str(),
                                std::to_string(port).c_str(), &hints, &found);
  if (error != 0) throw ConnectionError(refusal + gai_strerror(error));
  return Addresses(found, &freeaddrinfo);
}

// True once the descriptor is ready, false at the deadline.
bool wait_for_events(int descriptor, short events, Deadline& deadline) {
  for (;;) {
    pollfd one = {descriptor, events, 0};
    const double left_ms = std::min(std::ceil(deadline.left_s() * 1e3), 1e9);
    const int ready = poll(&one, 1, static_cast<int>(left_ms));
    if (ready > 0) return true;
    if (ready == 0 && deadline.left_s() == 0) return false;
    if (ready < 0 && errno != EINTR) throw ConnectionError("poll: " + error_text(errno));
  }
}

void set_option(int descriptor, int level, int name, int value) {
  setsockopt(descriptor, level, name, &value, sizeof value);
}

double keepalive_s() {
  const char* text = std::getenv("DEEPBENCH_CONNECTION_TIMEOUT");
  const double requested = text ? std::strtod(text, nullptr) : 0;
  return requested > 0 ? std::clamp(requested, kMinKeepaliveS, kMaxKeepaliveS) : kKeepaliveS;
}

// Makes small messages leave immediately, and a lost machine noticed even if nothing is sent.
void set_connection_options(int descriptor) {
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef __linux__
  const int idle_s = static_cast<int>(keepalive_s() / (kKeepaliveProbes + 1));
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, idle_s);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, idle_s);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kKeepaliveProbes);
  set_option(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(keepalive_s() * 1e3));
#endif
}

Socket open_socket(const addrinfo& one) {
  Socket socket(::socket(one.ai_family, one.ai_socktype, one.ai_protocol));
  if (!socket.is_open()) return socket;
  fcntl(socket.descriptor(), F_SETFD, FD_CLOEXEC);
  fcntl(socket.descriptor(), F_SETFL, O_NONBLOCK);
  return socket;
}

// Returns an open socket, or a closed one and the reason.
Socket try_to_connect(const addrinfo& one, Deadline& deadline, std::string* reason) {
  Socket socket = open_socket(one);
  if (!socket.is_open()) return socket;
  int error = ::connect(socket.descriptor(), one.ai_addr, one.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    Deadline attempt(std::min(kAttemptTimeoutS, deadline.left_s()));
    socklen_t size = sizeof error;
    if (!wait_for_events(socket.descriptor(), POLLOUT, attempt))
      error = ETIMEDOUT;
    else if (getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &error, &size) != 0)
      error = errno;
  }
  if (error != 0) {
    *reason = error_text(error);
    return Socket();
  }
  set_connection_options(socket.descriptor());
  return socket;
}

std::string numeric_address(const sockaddr_storage& address, socklen_t size) {
  char text[NI_MAXHOST];
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (generic->sa_family == AF_UNIX) return "127.0.0.1";  // the other end is on this machine
  if (getnameinfo(generic, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  const std::string all = text;
  constexpr std::string_view kMapped = "::ffff:";  // an IPv4 address on a dual-stack socket
  return all.compare(0, kMapped.size(), kMapped) == 0 ? all.substr(kMapped.size()) : all;
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_authenticated_, other.is_authenticated_);
  std::swap(key_, other.key_);
  std::swap(end_, other.end_);
  std::swap(sent_, other.sent_);
  std::swap(received_, other.received_);
  return *this;
}

Socket Socket::inherited(int descriptor) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0)
    throw ConnectionError("descriptor " + std::to_string(descriptor) +
                          " is no connected socket: " + error_text(errno));
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  fcntl(descriptor, F_SETFL, O_NONBLOCK);
  return Socket(descriptor);
}

Socket Socket::listen(const std::string& address, int port) {
  const std::string refusal =
      "cannot listen on port " + std::to_string(port) + " of '" + printable(address, 80) + "': ";
  const Addresses all =
      resolve_address(address, port, AI_PASSIVE, refusal + "the name does not resolve: ");
  std::string reason = "no address";
  for (const addrinfo* one = all.get(); one; one = one->ai_next) {
    Socket socket = open_socket(*one);
    if (!socket.is_open()) continue;
    set_option(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (::bind(socket.descriptor(), one->ai_addr, one->ai_addrlen) == 0 &&
        ::listen(socket.descriptor(), kBacklog) == 0)
      return socket;
    reason = error_text(errno);
  }
  throw ConnectionError(refusal + reason);
}

Socket Socket::connect(const std::string& address, int port, Deadline& deadline) {
  std::string reason = "no address";
  const Addresses all = resolve_address(address, port, 0, "has a name that does not resolve: ");
  for (;;) {
    for (const addrinfo* one = all.get(); one; one = one->ai_next) {
      Socket socket = try_to_connect(*one, deadline, &reason);
      if (socket.is_open()) return socket;
    }
    if (deadline.left_s() == 0) throw ConnectionError("does not answer: " + reason);
    poll(nullptr, 0, kRetryDelayMs);
  }
}

Socket Socket::accept(bool* out_of_descriptors) const {
  Socket socket(::accept(descriptor_, nullptr, nullptr));
  if (!socket.is_open()) {
    *out_of_descriptors = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    return socket;
  }
  fcntl(socket.descriptor(), F_SETFD, FD_CLOEXEC);
  fcntl(socket.descriptor(), F_SETFL, O_NONBLOCK);
  set_connection_options(socket.descriptor());
  return socket;
}

void Socket::send_bytes(const char* data, size_t count, Deadline& deadline) const {
  while (count > 0) {
    const ssize_t sent = ::send(descriptor_, data, count, MSG_NOSIGNAL);
    if (sent >= 0) {
      data += sent, count -= static_cast<size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!wait_for_events(descriptor_, POLLOUT, deadline))
        throw ConnectionTimeout("received nothing for " + to_text(deadline.seconds()) + " s");
    } else if (errno != EINTR) {
      throw ConnectionError("closed the connection");
    }
  }
}

void Socket::receive_bytes(char* data, size_t count, Deadline& deadline) const {
  while (count > 0) {
    const ssize_t got = ::recv(descriptor_, data, count, 0);
    if (got > 0) {
      data += got, count -= static_cast<size_t>(got);
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      if (!wait_for_events(descriptor_, POLLIN, deadline))
        throw ConnectionTimeout("sent nothing for " + to_text(deadline.seconds()) + " s");
    } else if (got == 0 || errno != EINTR) {
      throw ConnectionError("closed the connection");
    }
  }
}

void Socket::authenticate(std::string key, ConnectionEnd end) {
  is_authenticated_ = true;
  key_ = std::move(key);
  end_ = end;
  sent_ = received_ = 0;
}

std::string Socket::code_of(std::string_view message, ConnectionEnd sender, uint64_t number) const {
  std::string covered(1, static_cast<char>(sender));
  covered.append(reinterpret_cast<const char*>(&number), sizeof number);
  covered.append(message);
  return blake2s(key_, covered, kCodeBytes);
}

void Socket::send(std::string_view message, Deadline& deadline) {
  const uint64_t size = message.size();
  std::string framed(reinterpret_cast<const char*>(&size), sizeof size);
  framed.append(message);
  if (is_authenticated_) framed.append(code_of(message, end_, sent_++));
  send_bytes(framed.data(), framed.size(), deadline);
}

std::string Socket::receive(uint64_t max_bytes, Deadline& deadline) {
  uint64_t size = 0;
  receive_bytes(reinterpret_cast<char*>(&size), sizeof size, deadline);
  if (size > max_bytes) throw ConnectionError("sent an invalid message");
  std::string message;
  while (message.size() < size) {
    const uint64_t received = message.size();
    const uint64_t next = std::min(size - received, std::max(received, kFirstReceivedBytes));
    message.resize(received + next);
    receive_bytes(message.data() + received, next, deadline);
  }
  if (!is_authenticated_) return message;
  std::string code(kCodeBytes, '\0');
  receive_bytes(code.data(), code.size(), deadline);
  check_code(message, code);
  return message;
}

// Checks the code that follows the next message of the other side.
void Socket::check_code(std::string_view message, std::string_view code) {
  const ConnectionEnd sender =
      end_ == ConnectionEnd::kRankZero ? ConnectionEnd::kOtherRank : ConnectionEnd::kRankZero;
  if (!is_equal_in_constant_time(code, code_of(message, sender, received_++)))
    throw ConnectionError("sent a message with a wrong authentication code");
}

bool Socket::receive_available(uint64_t max_bytes, std::string* part) {
  const size_t code_bytes = is_authenticated_ ? kCodeBytes : 0;
  for (;;) {
    uint64_t size = 0;
    if (part->size() >= sizeof size) std::memcpy(&size, part->data(), sizeof size);
    if (size > max_bytes) throw ConnectionError("sent an invalid message");
    const uint64_t whole = sizeof size + (part->size() < sizeof size ? 0 : size + code_bytes);
    if (part->size() >= sizeof size && part->size() == whole) break;
    char bytes[1 << 14];
    const uint64_t missing = whole - part->size();
    const ssize_t got = ::recv(descriptor_, bytes, std::min<uint64_t>(missing, sizeof bytes), 0);
    if (got > 0) {
      part->append(bytes, static_cast<size_t>(got));
    } else if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      return false;
    } else if (got == 0 || errno != EINTR) {
      throw ConnectionError("closed the connection");
    }
  }
  part->erase(0, sizeof(uint64_t));
  const std::string code = part->substr(part->size() - code_bytes);
  part->resize(part->size() - code_bytes);
  if (is_authenticated_) check_code(*part, code);
  return true;
}

bool Socket::is_readable(int limit_ms) const {
  pollfd one = {descriptor_, POLLIN, 0};
  return poll(&one, 1, limit_ms) > 0;
}

bool Socket::peek_if_arrived(void* bytes, size_t count) const {
  return ::recv(descriptor_, bytes, count, MSG_PEEK | MSG_DONTWAIT) == ssize_t(count);
}

void Socket::shutdown() const {
  if (descriptor_ >= 0) ::shutdown(descriptor_, SHUT_RDWR);
}

int Socket::port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
}

std::string Socket::address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return numeric_address(address, size);
}

std::string Socket::peer_address() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getpeername(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  return numeric_address(address, size);
}

}  // namespace deepbench
