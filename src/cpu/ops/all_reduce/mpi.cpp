// all_reduce through MPI_Allreduce on host memory, as in the OSU benchmark of the original
// DeepBench.
#include <limits>
#include <string>
#include <vector>

#include "ops/all_reduce/all_reduce_implementation.hpp"
#include "ops/all_reduce/mpi_api.hpp"

namespace deepbench::cpu {
namespace {

constexpr const char* kAllreduce = "MPI_Allreduce";

class MpiCall final : public LibraryCall {
 public:
  explicit MpiCall(const AllReduceOperands& operands)
      : operands_(operands), mpi_(mpi(plugin::ranks())) {}

  int run(uint64_t copy) override {
    return mpi_.all_reduce(operands_.problem().precision.c, operands_.rank(0).input(copy),
                           operands_.rank(0).result(copy), int(operands_.elements()));
  }
  std::string error_text(int status) const override { return mpi_.error_text(status); }
  void begin_batch() override {
    bind_rank_to_core();
    mpi_.barrier();
  }
  void describe(plugin::Sink& sink) const override {
    if (operands_.problem().precision.name != "float")
      sink.text("note.sum", "MPI has no sum for " +
                                std::string(operands_.problem().precision.name) +
                                ", so deepbench registers its own operation");
  }

 private:
  const AllReduceOperands& operands_;
  Mpi& mpi_;
};

class MpiAllReduce final : public AllReduceImplementation {
 public:
  MpiAllReduce() : AllReduceImplementation("mpi") {}
  LibraryFacts library() override { return mpi_facts(); }

 protected:
  void require_supported(const AllReduce& all_reduce, const Participants&,
                         const std::string&) override {
    const std::string reason =
        mpi_unavailable_reason("--library mpi, or --ranks 2 --library mpi, which does that");
    if (!reason.empty()) plugin::unsupported("mpi: " + reason);
    if (all_reduce.elements > std::numeric_limits<int>::max())
      plugin::unsupported("mpi: MPI_Allreduce takes at most 2^31 - 1 elements");
  }
  std::vector<std::string> algorithms(const AllReduce&) override { return {kAllreduce}; }
  std::unique_ptr<LibraryCall> make_call(AllReduceOperands& operands, const std::string&) override {
    return std::make_unique<MpiCall>(operands);
  }
};

}  // namespace

Implementation& mpi_all_reduce() {
  static auto* implementation = new MpiAllReduce();
  return *implementation;
}

}  // namespace deepbench::cpu
