// Memory of every rank of this machine, as this rank's device reaches it.
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
  // Beginnings of allocations of AllocationKind::kDedicated; nullptr: none.
  using Allocations = std::array<std::byte*, 3>;

  PeerMemory() = default;
  // For prepare, by all ranks alike: each shows the others its `own` on the stream's device, all at
  // once, so that none fails while others of them are open. Throws unsupported, on all ranks and
  // with nothing left open, where one cannot.
  PeerMemory(const plugin::Ranks& ranks, const Allocations& own, const Stream& stream);
  ~PeerMemory() { close(); }
  PeerMemory(PeerMemory&& other) noexcept { swap(other); }
  PeerMemory& operator=(PeerMemory&& other) noexcept {
    swap(other);
    return *this;
  }

  // So many bytes behind the beginning of each rank's `which`-th; nullptr where there is none.
  PeerAddresses at(size_t which, uint64_t offset) const;
  // The others' are out of reach from here on. A rank must not free its own before all have closed.
  void close();

 private:
  void swap(PeerMemory& other) {
    allocations_.swap(other.allocations_);
    std::swap(this_rank_, other.this_rank_);
  }

  std::vector<Allocations> allocations_;  // by rank
  size_t this_rank_ = 0;                  // which of them is this rank's
};

// Why these ranks cannot reach one another's memory, for all that this one knows; empty if they
// can. For prepare, by all ranks alike: each gets the same answer.
std::string unreachable_reason(const plugin::Ranks& ranks, int device);

}  // namespace deepbench::cuda
