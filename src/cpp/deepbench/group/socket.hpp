// One TCP connection between two ranks: whole messages, each within a time limit.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "deepbench/core/export.hpp"
#include "deepbench/core/stopwatch.hpp"

namespace deepbench {

// What went wrong with the other side, as the end of a sentence: "closed the connection".
class DEEPBENCH_API ConnectionError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Deadline {
 public:
  explicit Deadline(double seconds) : seconds_(seconds), left_s_(seconds) {}
  double left_s() {
    left_s_ -= watch_.lap_ns() / 1e9;
    return left_s_ > 0 ? left_s_ : 0;
  }
  double seconds() const { return seconds_; }  // that there were at first

 private:
  Stopwatch watch_;
  double seconds_;
  double left_s_;
};

class DEEPBENCH_API Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;

  // Port 0: any that is free. Throws ConnectionError.
  static Socket listen(const std::string& address, int port);
  // Tries again until somebody listens there.
  static Socket connect(const std::string& address, int port, Deadline& deadline);
  // Waits for nobody: a closed socket where nobody has come, or no descriptor is free.
  Socket accept(bool* out_of_descriptors) const;

  void send(std::string_view message, Deadline& deadline) const;
  // Refuses a message of more than `most` bytes before anything is taken for it.
  std::string receive(uint64_t most, Deadline& deadline) const;
  // Adds to `part` what has come of a message, and waits for nothing; true once `part` is the whole
  // message. Memory is taken for what has come, not for what is announced.
  bool receive_available(uint64_t most, std::string* part) const;
  // Whether receive() would find something, or the end, within the limit.
  bool is_readable(int limit_ms) const;
  // The first `count` bytes of what is to be received, left there; false if there are not so many.
  bool peek(void* bytes, size_t count) const;
  // Ends both directions, for whoever waits on them, in any thread.
  void shutdown() const;

  bool is_open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  int port() const;                  // of this side
  std::string address() const;       // numeric, of this side
  std::string peer_address() const;  // numeric, of the other

 private:
  void send_bytes(const char* data, size_t count, Deadline& deadline) const;
  void receive_bytes(char* data, size_t count, Deadline& deadline) const;

  int descriptor_ = -1;
};

}  // namespace deepbench
