// The algorithms of summing by peer access: which there are for a sum, the default by its size, and
// how each is launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/all_reduce/all_reduce.hpp"
#include "kernels/jit.hpp"
#include "kernels/peer_control.h"

namespace deepbench::cuda {

enum class PeerAlgorithm { kOneShotLl, kOneShot, kTwoShot, kTwoShotPush, kRing };

// The same on all ranks.
struct PeerPlan {
  PeerAlgorithm algorithm;
  uint32_t blocks, threads;
  int vectors_in_flight;  // vectors of a thread under way
};

// Names: "one_shot", or "two_shot/32" where a number of blocks is asked for. The default
// first.
std::vector<std::string> peer_candidates(const AllReduce& all_reduce, int ranks);
// Of such a name, on devices of so many multiprocessors.
PeerPlan peer_plan(const std::string& name, const AllReduce& all_reduce, int ranks,
                   int multiprocessors);
PeerAlgorithm peer_algorithm(const std::string& name);

// Memory of each rank, beside the operands, that the others write or read.
uint64_t shared_bytes(PeerAlgorithm algorithm, const AllReduce& all_reduce, int ranks);
// Whether the others read a rank's operand, or write its result, where it lies.
bool reads_operands(PeerAlgorithm algorithm);
bool writes_results(PeerAlgorithm algorithm);

// The instance of a kernel of peer.cu.
std::string peer_expression(const PeerPlan& plan, deepbench_type type, int ranks);

// One call of an algorithm on a device.
class PeerKernel {
 public:
  PeerKernel(const PeerPlan& plan, const AllReduce& all_reduce, int ranks, const Stream& stream);

  // Of the operands, only this rank's need be there where the others' are not reached.
  void enqueue(nvidia::cudaStream_t stream, const Peers& peers, const PeerAddresses& shared,
               const PeerAddresses& inputs, const PeerAddresses& results) const;
  void describe(plugin::Sink& sink) const { function_.describe(sink); }

 private:
  PeerAlgorithm algorithm_;
  uint64_t elements_, units_;  // units of 16 bytes: the kernel's measure of shared memory
  LaunchShape shape_;
  const PlannedFunction function_;
};

}  // namespace deepbench::cuda
