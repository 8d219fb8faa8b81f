// all_reduce through the built-in ring algorithm, as a library.
#include <memory>
#include <string>
#include <vector>

#include "ops/all_reduce/all_reduce_implementation.hpp"
#include "ops/all_reduce/mpi_transport.hpp"
#include "ops/all_reduce/shared_memory_transport.hpp"
#include "ops/all_reduce/socket_transport.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kShared = "shared_memory";
constexpr const char* kSockets = "sockets";
constexpr const char* kMpi = "mpi";

std::string mpi_unavailable_for_ring() {
  return mpi_unavailable_reason("--library ring --algorithm mpi");
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
  RingCall(const AllReduceOperands& operands, RingTransport& transport)
      : operands_(operands), transport_(transport) {}

  int run(uint64_t copy) override {
    ring_all_reduce(transport_, position(), operands_.problem().precision.c,
                    operands_.rank(0).input(copy), operands_.rank(0).result(copy),
                    operands_.elements());
    return 0;
  }
  void begin_batch() override {
    bind_rank_to_core();
    barrier(transport_, position());
  }

 private:
  static RingPosition position() { return {plugin::ranks().rank(), plugin::ranks().size()}; }

  const AllReduceOperands& operands_;
  RingTransport& transport_;
};

class RingAllReduce final : public AllReduceImplementation {
 public:
  RingAllReduce() : AllReduceImplementation("ring") {}
  LibraryFacts library() override { return plugin::builtin_library_facts(); }

 protected:
  void require_supported(const AllReduce&, const Participants&,
                         const std::string& algorithm) override {
    if (algorithm != kMpi) return;
    if (const std::string reason = mpi_unavailable_for_ring(); !reason.empty())
      plugin::unsupported("ring: " + reason);
  }
  std::vector<std::string> algorithms(const AllReduce&) override {
    std::vector<std::string> all = {kSockets};
    if (plugin::ranks().local_size() == plugin::ranks().size()) all.insert(all.begin(), kShared);
    if (mpi_unavailable_for_ring().empty()) all.emplace_back(kMpi);
    return all;
  }
  void before_selection() override {
    if (!mpi_unavailable_for_ring().empty()) return;
    try {
      mpi(plugin::ranks());
      // Ignored here, because the same error is reported when selection tries the MPI transport. It
      // must not prevent the other algorithms.
    } catch (const plugin::Error&) {
    }
  }
  std::unique_ptr<LibraryCall> make_call(AllReduceOperands& operands,
                                         const std::string& algorithm) override {
    return std::make_unique<RingCall>(operands, ring_transport(algorithm));
  }
};

}  // namespace

Implementation& ring_all_reduce() {
  static auto* implementation = new RingAllReduce();
  return *implementation;
}

}  // namespace deepbench::cpu
