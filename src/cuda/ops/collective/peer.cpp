// The library of built-in kernels for small collectives over peer memory, with one process per
// device. The sums of all_reduce have algorithms of their own.
#include <memory>
#include <string>
#include <vector>

#include "ops/collective/peer_exchange.hpp"
#include "ops/collective/peer_library.hpp"

namespace deepbench::cuda {
namespace {

class ExchangeCall final : public PeerCall {
 public:
  explicit ExchangeCall(CollectiveOperands& operands)
      : PeerCall(operands.rank(0).memory().stream()),
        rank_operands_(operands.rank(0)),
        plan_(exchange_plan(operands.problem(), plugin::ranks().size(),
                            team().fewest_multiprocessors())),
        kernel_(plan_, operands.problem(), plugin::ranks().rank(), plugin::ranks().size(),
                rank_operands_.memory().stream()) {
    allocate_region(exchange_shared_bytes(operands.problem(), plugin::ranks().size()));
    share({region()});
  }

  void enqueue(uint64_t copy) override {
    kernel_.enqueue(stream(), team().peers(kCallTimeoutNs), memory().at(0, 0),
                    rank_operands_.input(copy), rank_operands_.result(copy));
  }

  void describe(plugin::Sink& sink) const override {
    kernel_.describe(sink);
    sink.text("note.peer", std::to_string(plan_.blocks) + " blocks of " +
                               std::to_string(plan_.threads) +
                               " threads; operands are copied for the other ranks to read");
  }

 private:
  const RankOperands& rank_operands_;
  const ExchangePlan plan_;
  const ExchangeKernel kernel_;
};

class PeerExchange final : public PeerImplementation {
 protected:
  std::vector<std::string> algorithms(const Collective&) override { return {"one_shot"}; }
  uint64_t workspace_bytes(const Collective& collective, const std::string&) override {
    return exchange_shared_bytes(collective, plugin::ranks().size());
  }
  void require_supported(const Collective& collective, const Participants& participants,
                         const std::string& algorithm) override {
    PeerImplementation::require_supported(collective, participants, algorithm);
    if (collective.bytes() <= double(kMaxExchangeBytes)) return;
    const uint64_t most = kMaxExchangeBytes / uint64_t(size_of(collective.precision.c));
    // For most kinds, the ranks divide the elements.
    const auto ranks = uint64_t(participants.ranks);
    plugin::unsupported("peer supports " + std::string(name_of(collective.kind)) + " of at most " +
                        std::to_string(kMaxExchangeBytes >> 20) + " MiB, which is " +
                        std::to_string(most / ranks * ranks) + " elements of " +
                        std::string(collective.precision.name));
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string&) override {
    return std::make_unique<ExchangeCall>(operands);
  }
};

}  // namespace

Implementation& peer_all_gather() {
  static auto* implementation = new PeerExchange();
  return *implementation;
}
Implementation& peer_reduce_scatter() { return peer_all_gather(); }
Implementation& peer_all_to_all() { return peer_all_gather(); }
Implementation& peer_broadcast() { return peer_all_gather(); }
Implementation& peer_send_recv() { return peer_all_gather(); }

}  // namespace deepbench::cuda
