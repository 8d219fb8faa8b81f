// all_reduce by NCCL, one process for all devices: the original's nccl_single. The time is that of
// the first device's stream, from where all streams begin to where the last of them has ended.
#include <memory>
#include <string>
#include <vector>

#include "check.hpp"
#include "ops/all_reduce/communicator.hpp"
#include "ops/all_reduce/nccl_facts.hpp"
#include "ops/all_reduce/summation.hpp"
#include "waiting.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kGrouped = "grouped_ncclAllReduce";

// An order between streams of several devices.
class Milestone {
 public:
  explicit Milestone(const Stream& stream) : stream_(stream) {
    stream.enter();
    CUDA_CHECK(cudart().cudaEventCreateWithFlags(&event_, nvidia::cudaEventDisableTiming));
  }
  ~Milestone() { cudart().cudaEventDestroy(event_); }
  Milestone(const Milestone&) = delete;
  Milestone& operator=(const Milestone&) = delete;

  void reach() const {
    stream_.enter();
    CUDA_CHECK(cudart().cudaEventRecord(event_, stream_.get()));
  }
  void wait_on(const Stream& other) const {
    other.enter();
    CUDA_CHECK(cudart().cudaStreamWaitEvent(other.get(), event_, 0));
  }

 private:
  const Stream& stream_;
  nvidia::cudaEvent_t event_ = nullptr;
};

class GroupedCall final : public LibraryCall {
 public:
  explicit GroupedCall(AllReduceOperands& operands)
      : operands_(operands), communicators_(Communicator::of(operands.seats().devices)) {
    for (size_t rank = 0; rank < communicators_.size(); ++rank) {
      stream(rank).enter();
      reached_.push_back(std::make_unique<Milestone>(stream(rank)));
      greetings_.emplace_back(sizeof(float), Origin::kOwn);
    }
    // NCCL connects the devices in the first call of a kind: before anything is timed.
    meet();
    enqueue(0);
    part();
    wait(stream(0));
    operands_.poison();
  }

  void enqueue(uint64_t copy) override {
    grouped([&](size_t rank) {
      const RankOperands& own = operands_.of(rank);
      communicators_[rank]->all_reduce(operands_.sum().precision.c, own.mine(copy),
                                       own.result(copy), operands_.elements());
    });
  }
  // The first stream's work so far is before everything, and everything before its work from now
  // on.
  void meet() override {
    reached_[0]->reach();
    for (size_t rank = 1; rank < reached_.size(); ++rank) reached_[0]->wait_on(stream(rank));
    grouped([&](size_t rank) {
      void* const greeting = greetings_[rank].data();
      communicators_[rank]->all_reduce(DEEPBENCH_F32, greeting, greeting, 1);
    });
  }
  void part() override {
    for (size_t rank = 1; rank < reached_.size(); ++rank) {
      reached_[rank]->reach();
      reached_[rank]->wait_on(stream(0));
    }
  }
  void wait(const Stream& first) override {
    wait_for(first, [this] { Communicator::look(communicators_); });
  }
  // NVIDIA advises against it where one thread has several devices: launching a graph may block on
  // one device before another, which it waits for, has got its part.
  bool can_be_captured() const override { return false; }
  void describe(plugin::Sink& sink) const override { describe_nccl("nccl_single", kGrouped, sink); }

 private:
  const Stream& stream(size_t rank) const { return operands_.of(rank).stream(); }

  // A group that one of the calls leaves by an error is ended too: later calls would be queued in
  // it.
  template <class OneRank>
  void grouped(OneRank one_rank) const {
    CUDA_CHECK(nccl().ncclGroupStart());
    try {
      for (size_t rank = 0; rank < communicators_.size(); ++rank) one_rank(rank);
    } catch (...) {
      nccl().ncclGroupEnd();
      throw;
    }
    CUDA_CHECK(nccl().ncclGroupEnd());
    stream(0).enter();
  }

  AllReduceOperands& operands_;
  const Communicator::All& communicators_;
  std::vector<std::unique_ptr<Milestone>> reached_;
  std::vector<Buffer> greetings_;
  const SumsGuard guard_{communicators_};
};

class NcclSingleSummation final : public Summation {
 public:
  NcclSingleSummation() : Summation("nccl_single") {}
  LibraryFacts library() override { return facts_of<nvidia::Nccl>(); }

 protected:
  std::vector<std::string> ways(const AllReduce&) override { return {kGrouped}; }
  Seats seats(const plugin::Options& options) override { return seats_of_process(options); }
  std::unique_ptr<LibraryCall> call(AllReduceOperands& operands, const std::string&) override {
    return std::make_unique<GroupedCall>(operands);
  }
};

}  // namespace

Implementation& nccl_single_all_reduce() {
  static auto* implementation = new NcclSingleSummation();
  return *implementation;
}

}  // namespace deepbench::cuda
