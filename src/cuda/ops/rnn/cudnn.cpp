// Recurrent layers through cuDNN: its forward pass and both of its gradients.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cudnn/handle.hpp"
#include "event.hpp"
#include "implementation.hpp"
#include "ops/rnn/layer_checks.hpp"
#include "ops/rnn/operands.hpp"
#include "ops/rnn/plan.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace dnn {
namespace {

constexpr double kSpanOfBatchNs = 400e3;

// The size of the saved dx. If a relu unit's sum rounds to zero, only dx shows which slope the
// library uses, because h(t) does not.
uint64_t saved_dx_bytes(const LayerStorage& storage) {
  return storage.rnn.cell == "vanilla" ? storage.bytes(LayerPart::kDx) : 0;
}

// cuDNN's calls on one copy of the operands.
class LayerPasses {
 public:
  LayerPasses(const LayerPlan& plan, const LayerOperands& operands, Stream& stream)
      : plan_(plan),
        operands_(operands),
        workspace_(plan.workspace_bytes),
        lengths_(uint64_t(plan.storage.rnn.batch) * sizeof(int32_t)),
        library_(cudnn()),
        handle_(cudnn_handle(stream)) {
    const std::vector<int32_t> lengths(size_t(rnn().batch), int32_t(rnn().timesteps));
    CUDA_CHECK(cudart().cudaMemcpyAsync(lengths_.data(), lengths.data(), lengths_.bytes(),
                                        nvidia::cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();
  }

  void forward(uint64_t copy) const {
    const auto mode =
        rnn().is_training() ? nvidia::CUDNN_FWD_MODE_TRAINING : nvidia::CUDNN_FWD_MODE_INFERENCE;
    CUDA_CHECK(library_.cudnnRNNForward(
        handle_, layer(), mode, lengths(), sequence(), at(LayerPart::kX, copy), sequence(),
        at(LayerPart::kY, copy), state(), at(LayerPart::kH0, copy), nullptr, state(),
        at(LayerPart::kC0, copy), nullptr, weight_bytes(), at(LayerPart::kWeights, copy),
        workspace_.bytes(), workspace_.data(), reserve_bytes(), at(LayerPart::kReserve, copy)));
  }

  void backward_data(uint64_t copy) const {
    CUDA_CHECK(library_.cudnnRNNBackwardData_v8(
        handle_, layer(), lengths(), sequence(), at(LayerPart::kY, copy), at(LayerPart::kDy, copy),
        sequence(), at(LayerPart::kDx, copy), state(), at(LayerPart::kH0, copy), nullptr,
        at(LayerPart::kDh0, copy), state(), at(LayerPart::kC0, copy), nullptr, nullptr,
        weight_bytes(), at(LayerPart::kWeights, copy), workspace_.bytes(), workspace_.data(),
        reserve_bytes(), at(LayerPart::kReserve, copy)));
  }

  void backward_weights(uint64_t copy) const {
    CUDA_CHECK(library_.cudnnRNNBackwardWeights_v8(
        handle_, layer(), nvidia::CUDNN_WGRAD_MODE_ADD, lengths(), sequence(),
        at(LayerPart::kX, copy), state(), at(LayerPart::kH0, copy), sequence(),
        at(LayerPart::kY, copy), weight_bytes(), at(LayerPart::kDWeights, copy), workspace_.bytes(),
        workspace_.data(), reserve_bytes(), at(LayerPart::kReserve, copy)));
  }

 private:
  const Rnn& rnn() const { return plan_.storage.rnn; }
  void* at(LayerPart part, uint64_t copy) const { return operands_.at(part, copy); }
  nvidia::cudnnRNNDescriptor_t layer() const { return plan_.descriptors->layer(); }
  nvidia::cudnnRNNDataDescriptor_t sequence() const { return plan_.descriptors->sequence(); }
  nvidia::cudnnTensorDescriptor_t state() const { return plan_.descriptors->state(); }
  const int32_t* lengths() const { return reinterpret_cast<const int32_t*>(lengths_.data()); }
  uint64_t weight_bytes() const { return plan_.storage.weights.bytes; }
  uint64_t reserve_bytes() const { return plan_.storage.reserve_bytes; }

  const LayerPlan& plan_;
  const LayerOperands& operands_;
  Buffer workspace_, lengths_;
  const nvidia::Cudnn& library_;
  nvidia::cudnnHandle_t handle_;
};

class LayerCall final : public LibraryCall {
 public:
  LayerCall(LayerPlan plan, const LayerOperands& operands, Stream& stream)
      : plan_(std::move(plan)), operands_(operands), passes_(plan_, operands, stream) {}

  void enqueue(uint64_t copy) override {
    if (rnn().is_forward())
      passes_.forward(copy);
    else if (rnn().has_data_gradient())
      passes_.backward_data(copy);
    else
      passes_.backward_weights(copy);
  }

  // Runs on copy 0 the passes that a gradient needs, and then the gradient once: the first call
  // loads some of the library's kernels and allocates memory, which stream capture does not allow.
  // Returns the number of calls that may use one reserve space before it is restored, which equals
  // the number of calls in a batch.
  int64_t run_preceding_passes(Stream& stream) {
    passes_.forward(0);
    if (rnn().is_forward()) return 1;
    passes_.backward_data(0);
    save_dx(stream);
    if (rnn().has_weight_gradient()) {
      passes_.backward_weights(0);
      return 1;
    }
    const double call_ns = time_backward_data(stream);
    passes_.forward(0);
    return std::max<int64_t>(1, int64_t(std::ceil(kSpanOfBatchNs / call_ns)));
  }

  // All copies hold the same states.
  ForwardState forward_state() const override {
    if (rnn().is_forward()) return {};
    return {operands_.at(LayerPart::kY, 0), dx_.bytes() ? dx_.data() : nullptr};
  }

  void describe(plugin::Sink& sink) const override {
    describe_rounding(sink);
    if (rnn().has_data_gradient())
      sink.text("note.backward",
                "a call changes its reserve space, which is restored between batches, outside the "
                "measured time; a later call of a batch finds the reserve space as the previous "
                "call left it");
    if (rnn().has_weight_gradient())
      sink.text("note.backward",
                "cuDNN adds to the gradient of the weights, which is set to zero outside the "
                "measured time; the preceding passes are outside the measured time as well");
  }

 private:
  const Rnn& rnn() const { return plan_.storage.rnn; }

  void save_dx(const Stream& stream) {
    dx_ = Buffer(saved_dx_bytes(plan_.storage));
    if (dx_.bytes() == 0) return;
    copy_on_device(dx_.data(), operands_.at(LayerPart::kDx, 0), dx_.bytes(), stream);
  }

  double time_backward_data(Stream& stream) {
    const Event begin, end;
    begin.record(stream.get());
    passes_.backward_data(0);
    end.record(stream.get());
    stream.synchronize();
    return std::max(1.0, end.elapsed_ns(begin));
  }

  // Determined by comparing outputs with exact sums, because the library does not report it.
  void describe_rounding(plugin::Sink& sink) const {
    const bool is_persistent = plan_.algorithm != "standard";
    const bool is_narrow = plan_.storage.type != DEEPBENCH_F32;
    const std::string type(rnn().precision.name);
    if (is_narrow) sink.text("sums", type);
    if (is_narrow && rnn().cell == "gru") sink.text("gates", type);
    if (rounds_partial_sums(rnn(), plan_.algorithm)) {
      sink.text("partial_sums", type);
      sink.text("note.sums", "partial sums of a recurrent product are kept in " + type +
                                 " until they are added, although sums in float are requested");
    }
    if (!is_narrow && is_persistent && rnn().cell != "vanilla") sink.text("activations", "fast");
  }

  LayerPlan plan_;
  const LayerOperands& operands_;
  LayerPasses passes_;
  Buffer dx_;  // dx of the first backward pass
};

class CudnnRnnPlan final : public plugin::TypedPlan<CudnnRnnPlan, Rnn> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cudnn>(); }
  static Rnn parse(const plugin::Problem& problem) { return skip_input_rnn(problem); }

  CudnnRnnPlan(const Rnn& rnn, const plugin::Options& options, const std::string& candidate,
               std::shared_ptr<LayerQueries> queries = nullptr)
      : TypedPlan(rnn, options),
        queries_(queries ? std::move(queries) : std::make_shared<LayerQueries>(rnn, options)),
        plan_(queries_->plan(candidate)),
        copies_(plan_copies(plan_.storage.touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_plan("cudnn " + report<nvidia::Cudnn>().version, plan_.algorithm, memory_bytes(),
                  plan_.workspace_bytes, sink);
    sink.real("planning_ns", plan_.planning_ns);
  }

  std::vector<std::string> candidates(int64_t limit) const override {
    return queries_->candidates(limit);
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    return std::make_unique<CudnnRnnPlan>(problem_, options_, id, queries_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<LayerOperands>(
        plan_.storage, copies_, parse_inputs(options_.inputs), options_.seed, stream);
    auto call = std::make_unique<LayerCall>(plan_, *operands, stream);
    const int64_t calls = call->run_preceding_passes(stream);
    operands->save_preceding_passes(calls);
    stream.synchronize();
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  uint64_t memory_bytes() const {
    const uint64_t lengths = uint64_t(plan_.storage.rnn.batch) * sizeof(int32_t);
    const uint64_t other_bytes = saturating_add(saved_dx_bytes(plan_.storage), lengths);
    return saturating_add(plan_.storage.needed_bytes(copies_),
                          saturating_add(plan_.workspace_bytes, other_bytes));
  }

  const std::shared_ptr<LayerQueries> queries_;
  const LayerPlan plan_;
  const plugin::CopyPlan copies_;
};

}  // namespace
}  // namespace dnn

Implementation& cudnn_rnn() { return implementation_of_plan<dnn::CudnnRnnPlan>(); }

}  // namespace deepbench::cuda
