// all_reduce through NCCL with one process for all devices, like the original benchmark's
// nccl_single. The time is measured on the first device's stream, from the start of all streams to
// the end of the last one.
#include <memory>
#include <string>
#include <vector>

#include "device.hpp"
#include "ops/all_reduce/all_reduce_implementation.hpp"
#include "ops/all_reduce/communicator.hpp"
#include "ops/all_reduce/nccl_facts.hpp"
#include "status_check.hpp"
#include "stream_polling.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kGrouped = "grouped_ncclAllReduce";

// Orders the work of streams on several devices.
class OrderingEvent {
 public:
  explicit OrderingEvent(const Stream& stream) : stream_(stream) {
    stream.make_current();
    CUDA_CHECK(cudart().cudaEventCreateWithFlags(&event_, nvidia::cudaEventDisableTiming));
  }
  ~OrderingEvent() { cudart().cudaEventDestroy(event_); }
  OrderingEvent(const OrderingEvent&) = delete;
  OrderingEvent& operator=(const OrderingEvent&) = delete;

  void record() const {
    stream_.make_current();
    CUDA_CHECK(cudart().cudaEventRecord(event_, stream_.get()));
  }
  void make_stream_wait(const Stream& other) const {
    other.make_current();
    CUDA_CHECK(cudart().cudaStreamWaitEvent(other.get(), event_, 0));
  }

 private:
  const Stream& stream_;
  nvidia::cudaEvent_t event_ = nullptr;
};

class GroupedCall final : public LibraryCall {
 public:
  explicit GroupedCall(AllReduceOperands& operands)
      : operands_(operands), communicators_(Communicator::of(operands.participants().devices)) {
    for (size_t rank = 0; rank < communicators_.size(); ++rank) {
      stream(rank).make_current();
      events_.push_back(std::make_unique<OrderingEvent>(stream(rank)));
      barrier_buffers_.emplace_back(sizeof(float), AllocationKind::kDedicated);
    }
    // NCCL connects the devices in the first call of each kind, which must precede all
    // measurements.
    enqueue_start_barrier();
    enqueue(0);
    enqueue_end_barrier();
    wait(stream(0));
    operands_.poison_outputs();
  }

  void enqueue(uint64_t copy) override {
    in_nccl_group([&](size_t rank) {
      const RankOperands& rank_operands = operands_.rank(rank);
      communicators_[rank]->all_reduce(operands_.problem().precision.c, rank_operands.input(copy),
                                       rank_operands.result(copy), operands_.elements());
    });
  }
  // All streams wait for the previous work of the first stream, and its later work waits for them.
  void enqueue_start_barrier() override {
    events_[0]->record();
    for (size_t rank = 1; rank < events_.size(); ++rank) events_[0]->make_stream_wait(stream(rank));
    in_nccl_group([&](size_t rank) {
      void* const barrier_buffer = barrier_buffers_[rank].data();
      communicators_[rank]->all_reduce(DEEPBENCH_F32, barrier_buffer, barrier_buffer, 1);
    });
  }
  void enqueue_end_barrier() override {
    for (size_t rank = 1; rank < events_.size(); ++rank) {
      events_[rank]->record();
      events_[rank]->make_stream_wait(stream(0));
    }
  }
  void wait(const Stream& first) override {
    poll_until_done(first, [this] { Communicator::check_errors(communicators_); });
  }
  // NVIDIA advises against capture if one thread drives several devices: the launch of a graph may
  // block on one device before another device, for which it waits, has received its part.
  bool can_be_captured() const override { return false; }
  void describe(plugin::Sink& sink) const override { describe_nccl_settings(sink); }

 private:
  const Stream& stream(size_t rank) const { return operands_.rank(rank).memory().stream(); }

  // Ends the group even after an error in one of the calls; otherwise later calls would join it.
  template <class OneRank>
  void in_nccl_group(OneRank one_rank) const {
    CUDA_CHECK(nccl().ncclGroupStart());
    try {
      for (size_t rank = 0; rank < communicators_.size(); ++rank) one_rank(rank);
    } catch (...) {
      nccl().ncclGroupEnd();
      throw;
    }
    CUDA_CHECK(nccl().ncclGroupEnd());
    stream(0).make_current();
  }

  AllReduceOperands& operands_;
  const Communicator::List& communicators_;
  std::vector<std::unique_ptr<OrderingEvent>> events_;
  std::vector<Buffer> barrier_buffers_;
  const PendingSumsGuard guard_{communicators_};
};

class NcclSingleAllReduce final : public AllReduceImplementation {
 public:
  NcclSingleAllReduce() : AllReduceImplementation("nccl_single") {}
  LibraryFacts library() override { return library_facts_of<nvidia::Nccl>(); }

 protected:
  std::vector<std::string> algorithms(const AllReduce&) override { return {kGrouped}; }
  Participants find_participants(const plugin::Options& options) override {
    const Participants all = plugin::participants_of_process(options, plugin::ranks());
    for (const int device : all.devices) device_facts(device);  // throws for an invalid device
    return all;
  }
  std::unique_ptr<LibraryCall> make_call(AllReduceOperands& operands, const std::string&) override {
    return std::make_unique<GroupedCall>(operands);
  }
};

}  // namespace

Implementation& nccl_single_all_reduce() {
  static auto* implementation = new NcclSingleAllReduce();
  return *implementation;
}

}  // namespace deepbench::cuda
