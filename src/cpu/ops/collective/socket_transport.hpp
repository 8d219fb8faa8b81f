// A RingTransport over TCP, between any two ranks, on one machine or on two.
#pragma once

#include <memory>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "ops/collective/ring_algorithm.hpp"

namespace deepbench::cpu {

// One end of a connection. The destructor closes it.
class Connection {
 public:
  Connection() = default;
  explicit Connection(int descriptor) : descriptor_(descriptor) {}
  ~Connection();
  Connection(Connection&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  Connection& operator=(Connection&& other) noexcept;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

class SocketTransport final : public RingTransport {
 public:
  // A neighbor that is silent for `timeout_s` is lost.
  SocketTransport(Connection right, Connection left, double timeout_s);
  void send_receive(const std::byte* out, uint64_t out_bytes, uint64_t in_bytes,
                    const Consumer& consume) override;

 private:
  struct Transfer;
  bool send(Transfer& transfer);
  bool receive(Transfer& transfer, const Consumer& consume);
  void wait(const Transfer& transfer) const;

  Connection right_, left_;
  double timeout_s_;
  std::vector<std::byte> piece_;
};

// The connections of this rank, and the key of every rank, which its left neighbor sends to
// identify itself.
struct NeighborConnections {
  Connection right, left;
  std::vector<uint64_t> keys;
};
NeighborConnections connect_neighbors(const plugin::Ranks& ranks);

// Connects this rank with its neighbors. All ranks call it at the same time.
std::unique_ptr<RingTransport> connect_sockets(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
