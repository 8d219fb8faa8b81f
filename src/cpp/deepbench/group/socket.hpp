// One connection between two ranks, over TCP or an inherited pair of Unix sockets. It transfers
// whole messages, each within a time limit.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "deepbench/core/export.hpp"
#include "deepbench/core/stopwatch.hpp"

namespace deepbench {

inline constexpr int kBacklog = 1024;     // ranks that connect at the same time
inline constexpr int kRetryDelayMs = 20;  // between attempts to connect, or to lock
inline constexpr size_t kCodeBytes = 16;  // of the code that authenticates a message

// A machine that is silent this long counts as lost; DEEPBENCH_CONNECTION_TIMEOUT overrides it.
inline constexpr double kKeepaliveS = 40;
inline constexpr double kMinKeepaliveS = 4, kMaxKeepaliveS = 3600;

// A failure of the other side. Its text is the end of a sentence, such as "closed the connection".
class DEEPBENCH_API ConnectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The other side was silent until the deadline.
class DEEPBENCH_API ConnectionTimeout : public ConnectionError {
 public:
  using ConnectionError::ConnectionError;
};

class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds), left_s_(seconds) {}
  double left_s() {
    left_s_ -= watch_.lap_ns() / 1e9;
    return left_s_ > 0 ? left_s_ : 0;
  }
  double seconds() const { return seconds_; }  // initial limit

 private:
  Stopwatch watch_;
  double seconds_;
  double left_s_;
};

// Distinguishes the two ends of a connection.
enum class ConnectionEnd : char { kRankZero = 0, kOtherRank = 1 };

class DEEPBENCH_API Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept { *this = std::move(other); }
  Socket& operator=(Socket&& other) noexcept;
  // A connected socket that this process has inherited. Throws ConnectionError if the descriptor is
  // no such socket.
  static Socket inherited(int descriptor);

  // Listens at the first address of this machine that the name has. Port 0 selects a free port.
  // Throws ConnectionError.
  static Socket listen(const std::string& address, int port);
  // Retries until the other side listens or the deadline passes.
  static Socket connect(const std::string& address, int port, Deadline& deadline);
  // Does not block. Returns a closed socket if no connection is pending or no descriptor is free.
  Socket accept(bool* out_of_descriptors) const;

  // From now on, a code made with `key` follows each message. It covers the message, its direction
  // and its number, so that nothing can be changed, repeated, left out or returned to its sender.
  // Both ends call this after the same message.
  void authenticate(std::string key, ConnectionEnd end);

  void send(std::string_view message, Deadline& deadline);
  // Throws for a message of more than `max_bytes`. Memory grows with the received bytes, not with
  // the announced size.
  std::string receive(uint64_t max_bytes, Deadline& deadline);
  // Appends the received bytes of a message to `part` without blocking; returns true once `part` is
  // the complete message, without its code. Memory grows with the received bytes.
  bool receive_available(uint64_t max_bytes, std::string* part);
  // Whether receive() finds data or the end of the connection within the limit.
  bool is_readable(int limit_ms) const;
  // Copies the first `count` unread bytes without consuming them; false if fewer have arrived.
  bool peek_if_arrived(void* bytes, size_t count) const;
  // Closes both directions, which wakes all threads that wait on the socket.
  void shutdown() const;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int port() const;                  // port of this side
  std::string address() const;       // numeric address of this side
  std::string peer_address() const;  // numeric address of the other side

 private:
  void send_bytes(const char* data, size_t count, Deadline& deadline) const;
  void receive_bytes(char* data, size_t count, Deadline& deadline) const;
  std::string code_of(std::string_view message, ConnectionEnd sender, uint64_t number) const;
  void check_code(std::string_view message, std::string_view code);

  int descriptor_ = -1;
  bool is_authenticated_ = false;
  std::string key_;
  ConnectionEnd end_ = ConnectionEnd::kRankZero;
  uint64_t sent_ = 0, received_ = 0;  // messages since authenticate()
};

}  // namespace deepbench
