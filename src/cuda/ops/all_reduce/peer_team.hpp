// What sums by peer access have in common as long as the process lives: every rank's flags, and how
// it shows when a rank does not come.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "deepbench/backend/ranks.hpp"
#include "kernels/jit.hpp"
#include "ops/all_reduce/peer_memory.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// How far a rank's blocks came.
struct PeerSteps {
  uint32_t of[PEER_MAX_BLOCKS];
};

// With which all ranks go on after one has missed another: behind whatever any of them has begun,
// so that nothing from before counts as having come.
PeerControl resynchronized_control(const std::vector<PeerSteps>& of_ranks);

class PeerTeam {
 public:
  // The group's ranks, this one on the stream's device. For prepare, by all ranks alike; made once,
  // and renewed where one has missed another since. Throws unsupported, on all of them, where they
  // cannot reach one another.
  static PeerTeam& of(const plugin::Ranks& ranks, Stream& stream);

  int multiprocessors() const { return multiprocessors_; }  // of the smallest device

  // For a kernel that waits so long for any other rank.
  Peers peers(uint64_t limit_ns) const;

  // Gives the stream a meeting: what follows begins when all have come to it.
  void barrier(uint64_t limit_ns);
  // For all that was given to the stream. Throws device_lost for a rank that did not come in time,
  // and for one that is gone, without waiting for the limit.
  void wait();

 private:
  PeerTeam(const plugin::Ranks& ranks, Stream& stream);
  void resynchronize();
  uint32_t* missing_flag() const { return reinterpret_cast<uint32_t*>(missing_flag_.data()); }

  const plugin::Ranks ranks_;
  Stream& stream_;
  Buffer control_;
  HostBuffer missing_flag_;
  PeerMemory controls_;
  int multiprocessors_ = 0;
  const Function& barrier_kernel_;
};

// A sum waits for ranks that have begun a batch with it; a meeting for ranks that may still verify
// the one before.
constexpr uint64_t kSumTimeoutNs = 10'000'000'000, kBarrierTimeoutNs = 60'000'000'000;

}  // namespace deepbench::cuda
