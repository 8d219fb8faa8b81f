// all_reduce by NCCL, one process for each device: the original's nccl_mpi, without MPI.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "graph.hpp"
#include "ops/all_reduce/communicator.hpp"
#include "ops/all_reduce/nccl_facts.hpp"
#include "ops/all_reduce/summation.hpp"
#include "waiting.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kNcclAllReduce = "ncclAllReduce";

class NcclCall final : public LibraryCall {
 public:
  explicit NcclCall(AllReduceOperands& operands)
      : operands_(operands),
        own_(operands.of(0)),
        greeting_(sizeof(float), Origin::kOwn),
        communicators_(Communicator::of(plugin::ranks(), own_.stream())),
        guard_(communicators_) {
    // NCCL connects the ranks in the first call of a kind: not within a capture.
    meet();
    enqueue(0);
    wait(own_.stream());
    operands_.poison();
    can_be_captured_ = on_all_ranks(try_capture());
  }

  void enqueue(uint64_t copy) override {
    communicator().all_reduce(operands_.sum().precision.c, own_.mine(copy), own_.result(copy),
                              operands_.elements());
  }
  // Nobody leaves a sum before all have come to it.
  void meet() override {
    communicator().all_reduce(DEEPBENCH_F32, greeting_.data(), greeting_.data(), 1);
  }
  void wait(const Stream& stream) override {
    wait_for(stream, [this] { Communicator::look(communicators_); });
  }
  bool can_be_captured() const override { return can_be_captured_; }
  void describe(plugin::Sink& sink) const override { describe_nccl("nccl", kNcclAllReduce, sink); }

 private:
  const Communicator& communicator() const { return *communicators_.front(); }
  // NCCL wants a sum captured on all ranks, or on none.
  bool try_capture() {
    try {
      const Graph graph(own_.stream().get(), [this] {
        meet();
        enqueue(0);
      });
      return true;
    } catch (const CaptureFailed&) {
      return false;
    }
  }
  static bool on_all_ranks(bool here) {
    const std::vector<int32_t> all = plugin::ranks().exchange(int32_t{here});
    return std::find(all.begin(), all.end(), 0) == all.end();
  }

  AllReduceOperands& operands_;
  const RankOperands& own_;
  Buffer greeting_;  // before the ranks come together: where it has no room, all are told at once
  const Communicator::All& communicators_;
  const SumsGuard guard_;
  bool can_be_captured_ = false;
};

class NcclSummation final : public Summation {
 public:
  NcclSummation() : Summation("nccl") {}
  LibraryFacts library() override { return facts_of<nvidia::Nccl>(); }

 protected:
  std::vector<std::string> ways(const AllReduce&) override { return {kNcclAllReduce}; }
  std::unique_ptr<LibraryCall> call(AllReduceOperands& operands, const std::string&) override {
    return std::make_unique<NcclCall>(operands);
  }
};

}  // namespace

Implementation& nccl_all_reduce() {
  static auto* implementation = new NcclSummation();
  return *implementation;
}

}  // namespace deepbench::cuda
