// Collectives through NCCL with one process per device, like the original benchmark's nccl_mpi, but
// without MPI.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "graph.hpp"
#include "ops/collective/collective_implementation.hpp"
#include "ops/collective/communicator.hpp"
#include "ops/collective/nccl_facts.hpp"
#include "stream_polling.hpp"

namespace deepbench::cuda {
namespace {

class NcclCall final : public LibraryCall {
 public:
  explicit NcclCall(CollectiveOperands& operands)
      : operands_(operands),
        rank_operands_(operands.rank(0)),
        barrier_buffer_(sizeof(float), AllocationKind::kDedicated),
        communicators_(Communicator::of(plugin::ranks(), rank_operands_.memory().stream())),
        guard_(communicators_) {
    // NCCL connects the ranks in the first call of each kind, which must not happen during a
    // capture.
    enqueue_start_barrier();
    enqueue(0);
    wait(rank_operands_.memory().stream());
    operands_.poison_outputs();
    can_be_captured_ = is_true_on_all_ranks(try_capture());
  }

  void enqueue(uint64_t copy) override {
    communicator().enqueue(operands_.problem(), rank_operands_.input(copy),
                           rank_operands_.result(copy));
  }
  // No rank leaves a sum until all ranks have reached it, so a sum serves as a barrier.
  void enqueue_start_barrier() override {
    communicator().all_reduce(DEEPBENCH_F32, barrier_buffer_.data(), barrier_buffer_.data(), 1);
  }
  void wait(const Stream& stream) override {
    poll_until_done(stream, [this] { Communicator::check_errors(communicators_); });
  }
  bool can_be_captured() const override { return can_be_captured_; }
  void describe(plugin::Sink& sink) const override { describe_nccl_settings(sink); }

 private:
  const Communicator& communicator() const { return *communicators_.front(); }
  // NCCL requires that a call be captured either on all ranks or on none.
  bool try_capture() {
    try {
      const Graph graph(rank_operands_.memory().stream().get(), [this] {
        enqueue_start_barrier();
        enqueue(0);
      });
      return true;
    } catch (const CaptureFailed&) {
      return false;
    }
  }
  static bool is_true_on_all_ranks(bool here) {
    const std::vector<int32_t> all = plugin::ranks().exchange(int32_t{here});
    return std::find(all.begin(), all.end(), 0) == all.end();
  }

  CollectiveOperands& operands_;
  const RankOperands& rank_operands_;
  // Allocated first: if there is not enough memory, all ranks learn of it before they connect.
  Buffer barrier_buffer_;
  const Communicator::List& communicators_;
  const PendingSumsGuard guard_;
  bool can_be_captured_ = false;
};

class NcclCollective final : public CollectiveImplementation {
 public:
  NcclCollective() : CollectiveImplementation("nccl") {}
  LibraryFacts library() override { return library_facts_of<nvidia::Nccl>(); }

 protected:
  std::vector<std::string> algorithms(const Collective& collective) override {
    return {nccl_function(collective.kind)};
  }
  std::unique_ptr<LibraryCall> make_call(CollectiveOperands& operands,
                                         const std::string&) override {
    return std::make_unique<NcclCall>(operands);
  }
};

}  // namespace

Implementation& nccl_all_reduce() {
  static auto* implementation = new NcclCollective();
  return *implementation;
}
Implementation& nccl_all_gather() { return nccl_all_reduce(); }
Implementation& nccl_reduce_scatter() { return nccl_all_reduce(); }
Implementation& nccl_all_to_all() { return nccl_all_reduce(); }
Implementation& nccl_broadcast() { return nccl_all_reduce(); }
Implementation& nccl_send_recv() { return nccl_all_reduce(); }

}  // namespace deepbench::cuda
