// Collectives through MPI on host memory; MPI_Allreduce as in the OSU benchmark of the original
// DeepBench.
#include <limits>
#include <string>
#include <vector>

#include "ops/collective/collective_implementation.hpp"
#include "ops/collective/mpi_api.hpp"

namespace deepbench::cpu {
namespace {

class MpiCall final : public LibraryCall {
 public:
  explicit MpiCall(const CollectiveOperands& operands)
      : operands_(operands), mpi_(mpi(plugin::ranks())) {}

  int run(uint64_t copy) override {
    return mpi_.call(operands_.problem(), operands_.rank(0).input(copy),
                     operands_.rank(0).result(copy));
  }
  std::string error_text(int status) const override { return mpi_.error_text(status); }
  void begin_batch() override {
    bind_rank_to_core();
    mpi_.barrier();
  }
  void describe(plugin::Sink& sink) const override {
    if (operands_.problem().is_sum() && operands_.problem().precision.name != "float")
      sink.text("note.sum", "MPI has no sum for " +
                                std::string(operands_.problem().precision.name) +
                                ", so deepbench registers its own operation");
  }

 private:
  const CollectiveOperands& operands_;
  Mpi& mpi_;
};

class MpiCollective final : public CollectiveImplementation {
 public:
  MpiCollective() : CollectiveImplementation("mpi") {}
  LibraryFacts library() override { return mpi_facts(); }

 protected:
  void require_supported(const Collective& collective, const Participants& participants,
                         const std::string&) override {
    const std::string reason =
        mpi_unavailable_reason(std::string(name_of(collective.kind)) +
                               " --library mpi, or --ranks 2 --library mpi, which does that");
    if (!reason.empty()) plugin::unsupported("mpi: " + reason);
    if (collective.count(participants.ranks) > uint64_t(std::numeric_limits<int>::max()))
      plugin::unsupported("mpi: " + std::string(mpi_function(collective.kind)) +
                          " takes at most 2^31 - 1 elements");
  }
  std::vector<std::string> algorithms(const Collective& collective) override {
    return {mpi_function(collective.kind)};
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string&) override {
    return std::make_unique<MpiCall>(operands);
  }
};

}  // namespace

Implementation& mpi_all_reduce() {
  static auto* implementation = new MpiCollective();
  return *implementation;
}
Implementation& mpi_all_gather() { return mpi_all_reduce(); }
Implementation& mpi_reduce_scatter() { return mpi_all_reduce(); }
Implementation& mpi_all_to_all() { return mpi_all_reduce(); }
Implementation& mpi_broadcast() { return mpi_all_reduce(); }
Implementation& mpi_send_recv() { return mpi_all_reduce(); }

}  // namespace deepbench::cpu
