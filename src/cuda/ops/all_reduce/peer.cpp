// The library of built-in kernels for all_reduce over peer memory, with one process per device.
#include <memory>
#include <string>
#include <vector>

#include "device.hpp"
#include "ops/all_reduce/peer_algorithm.hpp"
#include "ops/all_reduce/peer_team.hpp"
#include "ops/collective/collective_implementation.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr int kMinComputeCapabilityMajor = 7;  // the first with system-scope memory operations

class PeerCall final : public LibraryCall {
 public:
  PeerCall(CollectiveOperands& operands, const std::string& algorithm)
      : rank_operands_(operands.rank(0)),
        stream_(rank_operands_.memory().stream()),
        in_place_(operands.problem().in_place),
        team_(PeerTeam::of(plugin::ranks(), rank_operands_.memory().stream())),
        plan_(peer_plan(algorithm, operands.problem(), plugin::ranks().size(),
                        team_.fewest_multiprocessors())),
        kernel_(plan_, operands.problem(), plugin::ranks().size(),
                rank_operands_.memory().stream()) {
    stream_.make_current();
    require_equal_copies();
    allocate_region(peer_shared_bytes(plan_.algorithm, operands.problem(), plugin::ranks().size()));
    const bool writes = writes_results(plan_.algorithm);
    PeerMemory::Allocations exported = {};
    exported[kShared] = region_.data();
    if (reads_operands(plan_.algorithm) || (in_place_ && writes))
      exported[kInputs] = const_cast<std::byte*>(rank_operands_.input(0));
    if (!in_place_ && writes) exported[kResults] = rank_operands_.result(0);
    // Last, because it is the last step that can fail.
    memory_ = PeerMemory(plugin::ranks(), exported, stream_);
  }

  // No rank frees memory that another rank still has open.
  ~PeerCall() override {
    ignore_errors([this] { team_.wait(); });  // for a batch that an error ended
    memory_.close();
    ignore_errors([this] {
      team_.barrier(kBarrierTimeoutNs);
      team_.wait();
    });
  }

  void enqueue(uint64_t copy) override {
    kernel_.enqueue(stream_.get(), team_.peers(kSumTimeoutNs), memory_.at(kShared, 0),
                    addresses(kInputs, rank_operands_.input(0), rank_operands_.input(copy)),
                    addresses(in_place_ ? kInputs : kResults, rank_operands_.result(0),
                              rank_operands_.result(copy)));
  }
  void enqueue_start_barrier() override { team_.barrier(kBarrierTimeoutNs); }
  void wait(const Stream&) override { team_.wait(); }

  void describe(plugin::Sink& sink) const override {
    kernel_.describe(sink);
    sink.text("note.peer", std::to_string(plan_.blocks) + " blocks of " +
                               std::to_string(plan_.threads) + " threads; operands are " +
                               (reads_operands(plan_.algorithm) ? "read in place by all ranks"
                                : plan_.algorithm == PeerAlgorithm::kOneShot
                                    ? "copied for the other ranks to read"
                                    : "sent to the other ranks"));
  }

 private:
  enum Part : size_t { kShared, kInputs, kResults };  // of the exported allocations

  template <class Body>
  void ignore_errors(Body body) const {
    try {
      stream_.make_current();
      body();
    } catch (const plugin::Error&) {
      // The next call reports the error.
    }
  }
  // The ranks use the same copy in step, at the same offset from the first.
  void require_equal_copies() const {
    for (const uint64_t copies : plugin::ranks().exchange(rank_operands_.copies()))
      if (copies != rank_operands_.copies())
        plugin::unsupported("peer needs identical devices, but here the ranks would have " +
                            std::to_string(rank_operands_.copies()) + " and " +
                            std::to_string(copies) + " copies of the operands");
  }
  // The words of one_shot_ll must not look as if they had arrived, so the region is zeroed.
  void allocate_region(uint64_t bytes) {
    if (bytes == 0) return;
    region_ = Buffer(bytes, AllocationKind::kDedicated);
    CUDA_CHECK(cudart().cudaMemsetAsync(region_.data(), 0, bytes, stream_.get()));
    stream_.synchronize();
  }
  PeerAddresses addresses(Part part, const std::byte* begin, const std::byte* copy) const {
    PeerAddresses addresses = memory_.at(part, uint64_t(copy - begin));
    addresses.of[plugin::ranks().rank()] = const_cast<std::byte*>(copy);
    return addresses;
  }

  const RankOperands& rank_operands_;
  Stream& stream_;  // the device's stream, which lives until the process ends
  const bool in_place_;
  PeerTeam& team_;
  const PeerPlan plan_;
  const PeerKernel kernel_;
  Buffer region_;
  PeerMemory memory_;
};

class PeerAllReduce final : public CollectiveImplementation {
 public:
  PeerAllReduce() : CollectiveImplementation("peer") {}
  LibraryFacts library() override { return plugin::builtin_library_facts(); }

 protected:
  std::vector<std::string> algorithms(const Collective& collective) override {
    return peer_candidates(collective, plugin::ranks().size());
  }
  uint64_t workspace_bytes(const Collective& collective, const std::string& algorithm) override {
    return peer_shared_bytes(peer_algorithm(algorithm), collective, plugin::ranks().size());
  }
  void require_supported(const Collective&, const Participants& participants,
                         const std::string&) override {
    const plugin::Ranks& ranks = plugin::ranks();
    if (ranks.local_size() < ranks.size())
      plugin::unsupported("peer supports only ranks on one machine, but these are on several");
    if (ranks.size() > PEER_MAX_RANKS)
      plugin::unsupported("peer supports at most " + std::to_string(int(PEER_MAX_RANKS)) +
                          " ranks, but there are " + std::to_string(ranks.size()));
    if (device_facts(participants.devices.front()).major < kMinComputeCapabilityMajor)
      plugin::unsupported("peer needs devices of compute capability 7.0 or higher");
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string& algorithm) override {
    return std::make_unique<PeerCall>(operands, algorithm);
  }
};

}  // namespace

Implementation& peer_all_reduce() {
  static auto* implementation = new PeerAllReduce();
  return *implementation;
}

}  // namespace deepbench::cuda
