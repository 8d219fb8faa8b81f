// The conditions of peer memory, and the order in which ranks open and free it.
#include "ops/collective/peer_library.hpp"

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr int kMinComputeCapabilityMajor = 7;  // the first with system-scope memory operations

}  // namespace

PeerCall::PeerCall(Stream& stream) : stream_(stream), team_(PeerTeam::of(plugin::ranks(), stream)) {
  stream_.make_current();
}

PeerCall::~PeerCall() {
  ignore_errors([this] { team_.wait(); });  // for a batch that an error ended
  memory_.close();
  ignore_errors([this] {
    team_.barrier(kBarrierTimeoutNs);
    team_.wait();
  });
}

template <class Body>
void PeerCall::ignore_errors(Body body) const {
  try {
    stream_.make_current();
    body();
  } catch (const plugin::Error&) {
    // The next call reports the error.
  }
}

void PeerCall::allocate_region(uint64_t bytes) {
  if (bytes == 0) return;
  region_ = Buffer(bytes, AllocationKind::kDedicated);
  CUDA_CHECK(cudart().cudaMemsetAsync(region_.data(), 0, bytes, stream_.get()));
  stream_.synchronize();
}

void PeerCall::share(const PeerMemory::Allocations& exported) {
  memory_ = PeerMemory(plugin::ranks(), exported, stream_);
}

void PeerImplementation::require_supported(const Collective&, const Participants& participants,
                                           const std::string&) {
  const plugin::Ranks& ranks = plugin::ranks();
  if (ranks.local_size() < ranks.size())
    plugin::unsupported("peer supports only ranks on one machine, but these are on several");
  if (ranks.size() > PEER_MAX_RANKS)
    plugin::unsupported("peer supports at most " + std::to_string(int(PEER_MAX_RANKS)) +
                        " ranks, but there are " + std::to_string(ranks.size()));
  if (device_facts(participants.devices.front()).major < kMinComputeCapabilityMajor)
    plugin::unsupported("peer needs devices of compute capability 7.0 or higher");
}

}  // namespace deepbench::cuda
