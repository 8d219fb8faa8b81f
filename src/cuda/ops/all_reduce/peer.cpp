// The library of built-in kernels for all_reduce over peer memory, with one process per device.
#include <memory>
#include <string>
#include <vector>

#include "ops/all_reduce/peer_algorithm.hpp"
#include "ops/collective/peer_library.hpp"

namespace deepbench::cuda {
namespace {

class PeerSum final : public PeerCall {
 public:
  PeerSum(CollectiveOperands& operands, const std::string& algorithm)
      : PeerCall(operands.rank(0).memory().stream()),
        rank_operands_(operands.rank(0)),
        in_place_(operands.problem().in_place),
        plan_(peer_plan(algorithm, operands.problem(), plugin::ranks().size(),
                        team().fewest_multiprocessors())),
        kernel_(plan_, operands.problem(), plugin::ranks().size(),
                rank_operands_.memory().stream()) {
    require_equal_copies();
    // The region holds zeros, so that no word of one_shot_ll looks as if it had arrived.
    allocate_region(peer_shared_bytes(plan_.algorithm, operands.problem(), plugin::ranks().size()));
    const bool writes = writes_results(plan_.algorithm);
    PeerMemory::Allocations exported = {};
    exported[kShared] = region();
    if (reads_operands(plan_.algorithm) || (in_place_ && writes))
      exported[kInputs] = const_cast<std::byte*>(rank_operands_.input(0));
    if (!in_place_ && writes) exported[kResults] = rank_operands_.result(0);
    share(exported);
  }

  void enqueue(uint64_t copy) override {
    kernel_.enqueue(stream(), team().peers(kCallTimeoutNs), memory().at(kShared, 0),
                    addresses(kInputs, rank_operands_.input(0), rank_operands_.input(copy)),
                    addresses(in_place_ ? kInputs : kResults, rank_operands_.result(0),
                              rank_operands_.result(copy)));
  }

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

  // The ranks use the same copy in each call, at the same offset from the first.
  void require_equal_copies() const {
    for (const uint64_t copies : plugin::ranks().exchange(rank_operands_.copies()))
      if (copies != rank_operands_.copies())
        plugin::unsupported("peer needs identical devices, but here the ranks would have " +
                            std::to_string(rank_operands_.copies()) + " and " +
                            std::to_string(copies) + " copies of the operands");
  }
  PeerAddresses addresses(Part part, const std::byte* begin, const std::byte* copy) const {
    PeerAddresses addresses = memory().at(part, uint64_t(copy - begin));
    addresses.of[plugin::ranks().rank()] = const_cast<std::byte*>(copy);
    return addresses;
  }

  const RankOperands& rank_operands_;
  const bool in_place_;
  const PeerPlan plan_;
  const PeerKernel kernel_;
};

class PeerAllReduce final : public PeerImplementation {
 protected:
  std::vector<std::string> algorithms(const Collective& collective) override {
    return peer_candidates(collective, plugin::ranks().size());
  }
  uint64_t workspace_bytes(const Collective& collective, const std::string& algorithm) override {
    return peer_shared_bytes(peer_algorithm(algorithm), collective, plugin::ranks().size());
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string& algorithm) override {
    return std::make_unique<PeerSum>(operands, algorithm);
  }
};

}  // namespace

Implementation& peer_all_reduce() {
  static auto* implementation = new PeerAllReduce();
  return *implementation;
}

}  // namespace deepbench::cuda
