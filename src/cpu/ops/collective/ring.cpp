// Collectives through the built-in ring algorithms, as a library.
#include <memory>
#include <string>
#include <vector>

#include "ops/collective/collective_implementation.hpp"
#include "ops/collective/mpi_transport.hpp"
#include "ops/collective/shared_memory_transport.hpp"
#include "ops/collective/socket_transport.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kShared = "shared_memory";
constexpr const char* kSockets = "sockets";
constexpr const char* kMpi = "mpi";

std::string mpi_unavailable_for_ring(const Collective& collective) {
  return mpi_unavailable_reason(std::string(name_of(collective.kind)) +
                                " --library ring --algorithm mpi");
}

// Creates each transport once, because transports outlive kernels. All ranks request the same
// transport at the same time.
RingTransport& ring_transport(const std::string& algorithm) {
  if (algorithm == kShared) {
    static const std::unique_ptr<RingTransport> ring = connect_shared_memory(plugin::ranks());
    return *ring;
  }
  if (algorithm == kMpi) {
    static const std::unique_ptr<RingTransport> ring = connect_mpi(plugin::ranks());
    return *ring;
  }
  static const std::unique_ptr<RingTransport> ring = connect_sockets(plugin::ranks());
  return *ring;
}

class RingCall final : public LibraryCall {
 public:
  RingCall(const CollectiveOperands& operands, RingTransport& transport)
      : operands_(operands),
        transport_(transport),
        scratch_(ring_scratch_bytes(operands.problem(), position().size)) {}

  int run(uint64_t copy) override {
    ring_collective(transport_, position(), operands_.problem(), operands_.rank(0).input(copy),
                    operands_.rank(0).result(copy), scratch_.data());
    return 0;
  }
  void begin_batch() override {
    bind_rank_to_core();
    barrier(transport_, position());
  }

 private:
  static RingPosition position() { return {plugin::ranks().rank(), plugin::ranks().size()}; }

  const CollectiveOperands& operands_;
  RingTransport& transport_;
  const Buffer scratch_;
};

class RingCollective final : public CollectiveImplementation {
 public:
  RingCollective() : CollectiveImplementation("ring") {}
  LibraryFacts library() override { return plugin::builtin_library_facts(); }

 protected:
  void require_supported(const Collective& collective, const Participants&,
                         const std::string& algorithm) override {
    if (algorithm != kMpi) return;
    if (const std::string reason = mpi_unavailable_for_ring(collective); !reason.empty())
      plugin::unsupported("ring: " + reason);
  }
  std::vector<std::string> algorithms(const Collective& collective) override {
    std::vector<std::string> all = {kSockets};
    if (plugin::ranks().local_size() == plugin::ranks().size()) all.insert(all.begin(), kShared);
    if (mpi_unavailable_for_ring(collective).empty()) all.emplace_back(kMpi);
    return all;
  }
  uint64_t workspace_bytes(const Collective& collective, const std::string&) override {
    return ring_scratch_bytes(collective, plugin::ranks().size());
  }
  void before_selection() override {
    if (!mpi_unavailable_reason("").empty()) return;
    try {
      mpi(plugin::ranks());
      // The error is ignored here, because selection reports it when it tries the MPI transport. It
      // must not prevent the other algorithms.
    } catch (const plugin::Error&) {
    }
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string& algorithm) override {
    return std::make_unique<RingCall>(operands, ring_transport(algorithm));
  }
};

}  // namespace

Implementation& ring_all_reduce() {
  static auto* implementation = new RingCollective();
  return *implementation;
}
Implementation& ring_all_gather() { return ring_all_reduce(); }
Implementation& ring_reduce_scatter() { return ring_all_reduce(); }
Implementation& ring_all_to_all() { return ring_all_reduce(); }
Implementation& ring_broadcast() { return ring_all_reduce(); }
Implementation& ring_send_recv() { return ring_all_reduce(); }

}  // namespace deepbench::cpu
