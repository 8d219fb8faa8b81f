// A RingTransport over shared memory, for ranks on one machine.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "deepbench/backend/ranks.hpp"
#include "ops/collective/ring_algorithm.hpp"
#include "ops/collective/socket_transport.hpp"

namespace deepbench::cpu {

// A one-way byte channel between two processes in memory that both map. One process writes and the
// other reads.
class Channel {
 public:
  // A power of two that is small enough for the caches.
  static constexpr uint64_t kBytes = 1 << 20;

  Channel() = default;
  ~Channel();
  Channel(Channel&& other) noexcept { *this = std::move(other); }
  Channel& operator=(Channel&& other) noexcept;

  // Creates the memory, which has no name: it is freed with the last process that maps it, however
  // that process ends. `key` identifies it.
  static Channel create(uint64_t key);
  // Identifies the memory for another process of this machine.
  struct Place {
    int64_t process;
    int64_t descriptor;
  };
  Place place() const;
  // Maps the memory of another process, which must still have it open.
  static Channel open(const Place& place, uint64_t key);
  // Closes the descriptor, which is not needed once every reader has opened its channel.
  void close_descriptor();

  // Copies as many bytes as there is room for and returns their number.
  uint64_t write(const std::byte* data, uint64_t bytes);
  // Returns the longest contiguous piece of at most `bytes`, and its length in `found`; nullptr if
  // the channel is empty.
  const std::byte* peek(uint64_t bytes, uint64_t* found) const;
  void release(uint64_t bytes);

 private:
  struct Memory;
  void map();

  Memory* memory_ = nullptr;
  int descriptor_ = -1;
};

class SharedMemoryTransport final : public RingTransport {
 public:
  // The connections detect a neighbor that is gone; no data crosses them.
  SharedMemoryTransport(Channel right, Channel left, Connection to_right, Connection to_left,
                        double timeout_s);
  void send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                    const Consumer& consume) override;

 private:
  const char* disconnected_neighbor() const;  // The reason, or nullptr if both are connected.

  Channel right_, left_;
  Connection to_right_, to_left_;
  const double timeout_s_;
};

// Connects this rank with its neighbors on this machine. All ranks call it at the same time.
std::unique_ptr<RingTransport> connect_shared_memory(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
