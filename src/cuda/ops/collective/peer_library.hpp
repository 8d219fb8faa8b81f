// The shared part of the libraries of built-in kernels over peer memory, with one process per
// device: their requirements, and the lifetime of a call's shared memory.
#pragma once

#include <cstdint>
#include <string>

#include "buffer.hpp"
#include "ops/collective/collective_implementation.hpp"
#include "ops/collective/peer_memory.hpp"
#include "ops/collective/peer_team.hpp"

namespace deepbench::cuda {

class PeerCall : public LibraryCall {
 public:
  // No rank frees memory that another rank still has open.
  ~PeerCall() override;

  void enqueue_start_barrier() final { team_.barrier(kBarrierTimeoutNs); }
  void wait(const Stream&) final { team_.wait(); }

 protected:
  // All ranks must call it. Makes the device of the stream current.
  explicit PeerCall(Stream& stream);
  // Allocates memory for the other ranks to access, filled with zeros.
  void allocate_region(uint64_t bytes);
  // All ranks must call it, as the last step that can fail.
  void share(const PeerMemory::Allocations& exported);

  nvidia::cudaStream_t stream() const { return stream_.get(); }
  const PeerTeam& team() const { return team_; }
  std::byte* region() const { return region_.data(); }
  const PeerMemory& memory() const { return memory_; }

 private:
  template <class Body>
  void ignore_errors(Body body) const;

  Stream& stream_;  // the device's stream, which lives until the process ends
  PeerTeam& team_;
  Buffer region_;
  PeerMemory memory_;
};

class PeerImplementation : public CollectiveImplementation {
 public:
  PeerImplementation() : CollectiveImplementation("peer") {}
  LibraryFacts library() final { return plugin::builtin_library_facts(); }

 protected:
  void require_supported(const Collective& collective, const Participants& participants,
                         const std::string& algorithm) override;
};

}  // namespace deepbench::cuda
