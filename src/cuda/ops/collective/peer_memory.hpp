// The memory of all ranks on this machine, at the addresses by which this rank's device accesses
// it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/backend/ranks.hpp"
#include "kernels/peer_control.h"
#include "stream.hpp"

namespace deepbench::cuda {

class PeerMemory {
 public:
  // The first addresses of allocations of AllocationKind::kDedicated, or nullptr.
  using Allocations = std::array<std::byte*, 3>;

  PeerMemory() = default;
  // All ranks must call it, in prepare. Each rank exports its `allocations` on the stream's device;
  // all are opened together, so that no rank fails while others hold them open. Throws unsupported
  // on all ranks, with nothing left open, if one of them fails.
  PeerMemory(const plugin::Ranks& ranks, const Allocations& allocations, const Stream& stream);
  ~PeerMemory() { close(); }
  PeerMemory(PeerMemory&& other) noexcept { swap(other); }
  PeerMemory& operator=(PeerMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  // The addresses at `offset` bytes from the start of each rank's allocation number `which`, or
  // nullptr.
  PeerAddresses at(size_t which, uint64_t offset) const;
  // Closes access to the other ranks' memory. A rank must not free its exported memory until all
  // ranks have closed it.
  void close();

 private:
  void swap(PeerMemory& other) {
    allocations_.swap(other.allocations_);
    std::swap(this_rank_, other.this_rank_);
  }

  std::vector<Allocations> allocations_;  // by rank
  size_t this_rank_ = 0;                  // the index of this rank
};

// The reason why these ranks cannot access one another's memory, as far as it can be determined, or
// an empty string. All ranks must call it, in prepare; each gets the same result.
std::string unreachable_reason(const plugin::Ranks& ranks, int device);

}  // namespace deepbench::cuda
