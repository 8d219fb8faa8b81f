// RingTransport by shared memory, for ranks of one machine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "deepbench/backend/ranks.hpp"
#include "ops/all_reduce/ring_algorithm.hpp"
#include "ops/all_reduce/socket_transport.hpp"

namespace deepbench::cpu {

// What flows from one process to another, through memory that both see: one writes, one reads.
class Channel {
 public:
  static constexpr uint64_t kBytes = 1 << 20;  // a power of two, small enough for the caches

  Channel() = default;
  ~Channel();
  Channel(Channel&& other) noexcept : memory_(other.memory_) { other.memory_ = nullptr; }
  Channel& operator=(Channel&& other) noexcept;

  // A name of the system's shared memory; the reader takes it away.
  static Channel create(const std::string& name);
  static Channel open(const std::string& name);

  // Copies as much as there is room for; how many bytes that was.
  uint64_t write(const std::byte* data, uint64_t bytes);
  // The longest piece that can be looked at as it lies, at most `bytes`; nullptr for none.
  const std::byte* peek(uint64_t bytes, uint64_t* found) const;
  void release(uint64_t bytes);

 private:
  struct Memory;
  static Channel map(int descriptor, const std::string& name);

  Memory* memory_ = nullptr;
};

class SharedMemoryTransport final : public RingTransport {
 public:
  // The connections tell of a neighbour that is gone; nothing is sent over them.
  SharedMemoryTransport(Channel right, Channel left, Connection to_right, Connection to_left,
                        double timeout_s);
  void send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                    const Consumer& consume) override;

 private:
  const char* disconnected_neighbour() const;  // which neighbour is, or nullptr

  Channel right_, left_;
  Connection to_right_, to_left_;
  const double timeout_s_;
};

// Connects this rank with its neighbours on this machine; all ranks at the same time.
std::unique_ptr<RingTransport> connect_shared_memory(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
