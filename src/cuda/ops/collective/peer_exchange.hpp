// The one-shot collectives of the library "peer", except all_reduce: the data that each rank sends
// and receives, the grid, and the launch.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/ops/collective/collective.hpp"
#include "kernels/jit.hpp"
#include "kernels/peer_control.h"

namespace deepbench::cuda {

// The largest size of a problem, in bytes of its elements.
constexpr uint64_t kMaxExchangeBytes = 64 << 20;

// Identical on all ranks.
struct ExchangePlan {
  uint32_t blocks, threads;
  int vectors_in_flight;  // positions in a block that a thread has in flight
};

PeerBlocks peer_blocks(const Collective& collective, int rank, int ranks);
// The plan on devices with the given number of multiprocessors.
ExchangePlan exchange_plan(const Collective& collective, int ranks, int multiprocessors);
// The size of each rank's memory, in addition to the operands, that other ranks read.
uint64_t exchange_shared_bytes(const Collective& collective, int ranks);
// The instance of a kernel in peer_exchange.cu.
std::string exchange_expression(const ExchangePlan& plan, const Collective& collective, int ranks);

// A call on the device of one rank.
class ExchangeKernel {
 public:
  ExchangeKernel(const ExchangePlan& plan, const Collective& collective, int rank, int ranks,
                 const Stream& stream);

  void enqueue(nvidia::cudaStream_t stream, const Peers& peers, const PeerAddresses& staged,
               const void* input, void* result) const;
  void describe(plugin::Sink& sink) const { function_.describe(sink); }

 private:
  const PeerBlocks blocks_;
  LaunchShape shape_;
  const PlannedFunction function_;
};

}  // namespace deepbench::cuda
