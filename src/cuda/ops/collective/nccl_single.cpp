// Collectives through NCCL with one process for all devices, like the original benchmark's
// nccl_single. The time is measured on the first device's stream, from the start of all streams to
// the end of the last one.
#include <memory>
#include <string>
#include <vector>

#include "device.hpp"
#include "ops/collective/collective_implementation.hpp"
#include "ops/collective/communicator.hpp"
#include "ops/collective/nccl_facts.hpp"
#include "status_check.hpp"
#include "stream_polling.hpp"

namespace deepbench::cuda {
namespace {

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
  explicit GroupedCall(CollectiveOperands& operands)
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
    for_each_rank_in_group([&](size_t rank) {
      const RankOperands& rank_operands = operands_.rank(rank);
      communicators_[rank]->enqueue(operands_.problem(), rank_operands.input(copy),
                                    rank_operands.result(copy));
    });
  }
  // All streams wait for the previous work of the first stream, and its later work waits for them.
  void enqueue_start_barrier() override {
    events_[0]->record();
    for (size_t rank = 1; rank < events_.size(); ++rank) events_[0]->make_stream_wait(stream(rank));
    for_each_rank_in_group([&](size_t rank) {
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

  template <class OneRank>
  void for_each_rank_in_group(OneRank one_rank) const {
    in_nccl_group([&] {
      for (size_t rank = 0; rank < communicators_.size(); ++rank) one_rank(rank);
    });
    stream(0).make_current();
  }

  CollectiveOperands& operands_;
  const Communicator::List& communicators_;
  std::vector<std::unique_ptr<OrderingEvent>> events_;
  std::vector<Buffer> barrier_buffers_;
  const PendingSumsGuard guard_{communicators_};
};

class NcclSingleCollective final : public CollectiveImplementation {
 public:
  NcclSingleCollective() : CollectiveImplementation("nccl_single") {}
  LibraryFacts library() override { return library_facts_of<nvidia::Nccl>(); }

 protected:
  std::vector<std::string> algorithms(const Collective& collective) override {
    return {std::string("grouped_") + nccl_function(collective.kind)};
  }
  Participants find_participants(const Collective&, const plugin::Options& options) override {
    const Participants all = plugin::participants_of_process(options, plugin::ranks());
    for (const int device : all.devices) device_facts(device);  // throws for an invalid device
    return all;
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string&) override {
    return std::make_unique<GroupedCall>(operands);
  }
};

}  // namespace

Implementation& nccl_single_all_reduce() {
  static auto* implementation = new NcclSingleCollective();
  return *implementation;
}
Implementation& nccl_single_all_gather() { return nccl_single_all_reduce(); }
Implementation& nccl_single_reduce_scatter() { return nccl_single_all_reduce(); }
Implementation& nccl_single_all_to_all() { return nccl_single_all_reduce(); }
Implementation& nccl_single_broadcast() { return nccl_single_all_reduce(); }
Implementation& nccl_single_send_recv() { return nccl_single_all_reduce(); }

}  // namespace deepbench::cuda
