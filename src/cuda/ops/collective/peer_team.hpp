// The shared part of all collectives over peer memory in a process: the flags of every rank and the
// detection of missing ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "deepbench/backend/ranks.hpp"
#include "kernels/jit.hpp"
#include "ops/collective/peer_memory.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// The steps that a rank's blocks have reached.
struct PeerSteps {
  uint32_t of[PEER_MAX_BLOCKS];
};

// The control words with which all ranks continue after one has missed another. Their steps are
// beyond all steps that any rank has begun, so that no earlier flag counts as an arrival.
PeerControl resynchronized_control(const std::vector<PeerSteps>& of_ranks);

class PeerTeam {
 public:
  // Returns the team of the group's ranks, with this rank on the stream's device. All ranks must
  // call it, in prepare. It is created once and resynchronized after a rank was missed. Throws
  // unsupported on all ranks if they cannot access one another's memory.
  static PeerTeam& of(const plugin::Ranks& ranks, Stream& stream);

  // The number of multiprocessors of the device that has the fewest.
  int fewest_multiprocessors() const { return fewest_multiprocessors_; }

  // The kernel argument, with a timeout for waiting for any other rank.
  Peers peers(uint64_t timeout_ns) const;

  // Enqueues a barrier: later work on the stream begins when all ranks have reached it.
  void barrier(uint64_t timeout_ns);
  // Waits for all enqueued work. Throws device_lost if a rank timed out, or, without waiting for
  // the timeout, if a rank is gone.
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
  int fewest_multiprocessors_ = 0;
  const Function& barrier_kernel_;
};

// A call waits for ranks that have begun the same batch. A barrier waits for ranks that may still
// be verifying the previous one.
constexpr uint64_t kCallTimeoutNs = 10'000'000'000, kBarrierTimeoutNs = 60'000'000'000;

}  // namespace deepbench::cuda
