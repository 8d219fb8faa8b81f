// The algorithms of the library "peer": the candidates for a problem, the default by payload size,
// and the launch of each algorithm.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/collective/collective.hpp"
#include "kernels/jit.hpp"
#include "kernels/peer_control.h"

namespace deepbench::cuda {

enum class PeerAlgorithm { kOneShotLl, kOneShot, kTwoShot, kTwoShotPush, kRing };

// Identical on all ranks.
struct PeerPlan {
  PeerAlgorithm algorithm;
  uint32_t blocks, threads;
  int vectors_in_flight;  // vectors that a thread has in flight
};

// Candidate names: "one_shot", or "two_shot/32" with an explicit number of blocks. The default is
// first.
std::vector<std::string> peer_candidates(const Collective& collective, int ranks);
// The plan for a candidate name on devices with the given number of multiprocessors.
PeerPlan peer_plan(const std::string& name, const Collective& collective, int ranks,
                   int multiprocessors);
PeerAlgorithm peer_algorithm(const std::string& name);

// The size of each rank's memory, in addition to the operands, that other ranks write or read.
uint64_t peer_shared_bytes(PeerAlgorithm algorithm, const Collective& collective, int ranks);
// Whether other ranks read a rank's operand, or write its result, directly.
bool reads_operands(PeerAlgorithm algorithm);
bool writes_results(PeerAlgorithm algorithm);

// The instance of a kernel in peer.cu.
std::string peer_expression(const PeerPlan& plan, deepbench_type type, int ranks);

// A call of an algorithm on a device.
class PeerKernel {
 public:
  PeerKernel(const PeerPlan& plan, const Collective& collective, int ranks, const Stream& stream);

  // Addresses of other ranks' operands are needed only if the algorithm accesses them.
  void enqueue(nvidia::cudaStream_t stream, const Peers& peers, const PeerAddresses& shared,
               const PeerAddresses& inputs, const PeerAddresses& results) const;
  void describe(plugin::Sink& sink) const { function_.describe(sink); }

 private:
  PeerAlgorithm algorithm_;
  uint64_t elements_, units_;  // units of 16 bytes, in which the kernel measures shared memory
  LaunchShape shape_;
  const PlannedFunction function_;
};

}  // namespace deepbench::cuda
