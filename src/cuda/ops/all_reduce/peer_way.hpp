// The ways of summing by peer access: which there are for a sum, the first choice by its size, and
// how each is launched.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/all_reduce/all_reduce.hpp"
#include "kernels/jit.hpp"
#include "kernels/peers.h"

namespace deepbench::cuda {

enum class PeerKind { kOneShotLl, kOneShot, kTwoShot, kTwoShotPush, kRing };

// The same on all ranks.
struct PeerWay {
  PeerKind kind;
  uint32_t blocks, threads;
  int at_once;  // vectors of a thread under way
};

// Names: "one_shot", or "two_shot/32" where a number of blocks is asked for. The first choice
// first.
std::vector<std::string> peer_ways(const AllReduce& sum, int ranks);
// Of such a name, on devices of so many multiprocessors.
PeerWay peer_way(const std::string& name, const AllReduce& sum, int ranks, int multiprocessors);
PeerKind peer_kind(const std::string& name);

// Memory of each rank, beside the operands, that the others write or read.
uint64_t shared_bytes(PeerKind kind, const AllReduce& sum, int ranks);
// Whether the others read a rank's operand, or write its result, where it lies.
bool reads_operands(PeerKind kind);
bool writes_results(PeerKind kind);

// The instance of a kernel of peer.cu.
std::string peer_expression(const PeerWay& way, deepbench_type type, int ranks);

// One call of a way on a device.
class PeerSum {
 public:
  PeerSum(const PeerWay& way, const AllReduce& sum, int ranks, const Stream& stream);

  // Of the operands, only this rank's need be there where the others' are not reached.
  void enqueue(nvidia::cudaStream_t stream, const Peers& peers, const PeerPlaces& shared,
               const PeerPlaces& added, const PeerPlaces& results) const;
  void describe(plugin::Sink& sink) const { function_.describe(sink); }

 private:
  PeerKind kind_;
  uint64_t elements_, units_;  // units of 16 bytes: the kernel's measure of shared memory
  Shape shape_;
  const PlannedFunction function_;
};

}  // namespace deepbench::cuda
