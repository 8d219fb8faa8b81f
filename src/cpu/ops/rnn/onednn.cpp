// Recurrent layers through oneDNN: prepared calls of its forward and backward primitives.
#include <map>

#include "deepbench/backend/conversion_facts.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "ops/rnn/onednn_int8.hpp"
#include "ops/rnn/onednn_plan.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

constexpr int kTimedReorders = 3;

// Buffers, with arguments as keys: the results that one pass passes to the other, and results that
// are not read. All are initialized to zero, as the gradient of the last state must be. Like a
// workspace, each exists once in every cache regime.
using PassBuffers = std::map<int, Buffer>;

// One primitive on a layer's operands, with weights in the primitive's layout.
class LayerPass : public PrimitiveCall {
 public:
  LayerPass(const_dnnl_primitive_desc_t primitive, const LayerOperands& operands, uint64_t copies,
            int reorders, PassBuffers pass_buffers, int threads)
      : PrimitiveCall(primitive, copies, threads),
        primitive_(primitive),
        operands_(operands),
        pass_buffers_(std::move(pass_buffers)) {
    const Rnn& rnn = operands.rnn();
    convert(DNNL_ARG_WEIGHTS_LAYER, operands.plain_wx(), rnn.inputs, copies, 1, wx_);
    conversion_times_ =
        convert(DNNL_ARG_WEIGHTS_ITER, operands.plain_u(), rnn.hidden, copies, reorders, u_);
    for (uint64_t copy = 0; copy < copies; ++copy) set_arguments(copy);
  }

  PassBuffers release_buffers() { return std::move(pass_buffers_); }

  // h(t) is an argument of the backward pass.
  ForwardState forward_state() const override {
    const auto found = pass_buffers_.find(DNNL_ARG_DST_LAYER);
    if (operands_.rnn().is_forward() || found == pass_buffers_.end()) return {};
    return {found->second.data(), nullptr};
  }

 protected:
  const LayerOperands& operands() const { return operands_; }
  const std::vector<double>& conversion_times() const { return conversion_times_; }
  MemoryDesc plain_u_description(deepbench_type type) const {
    return problem_weights(operands_.rnn(), operands_.rnn().hidden, data_type(type));
  }

 private:
  std::vector<double> convert(int argument, const Buffer& plain, int64_t columns, uint64_t copies,
                              int reorders, Copies& weights) {
    const const_dnnl_memory_desc_t required = argument_description(primitive_, argument);
    const LayerStorage& storage = operands_.storage();
    weights = Copies(Api::instance().memory_desc_get_size_f(required), copies);
    const std::vector<double> times =
        storage.is_quantized()
            ? quantize(storage.rnn, columns, plain.data(), required, weights.at(0), reorders)
            : reorder(problem_weights(storage.rnn, columns, data_type(storage.states)).get(),
                      plain.data(), required, weights.at(0), reorders);
    weights.replicate();
    return times;
  }

  void set_arguments(uint64_t copy) {
    set_if_required(copy, DNNL_ARG_WEIGHTS_LAYER, wx_.at(copy));
    set_if_required(copy, DNNL_ARG_WEIGHTS_ITER, u_.at(copy));
    for (const auto& [argument, part] : kOperandArguments)
      set_if_required(copy, argument,
                      operands_.storage().elements(part) ? operands_.at(part, copy) : nullptr);
    for (const int argument : kOtherArguments) set_if_required(copy, argument, nullptr);
  }

  // Without data, the argument gets the buffer of the other pass or a new one.
  void set_if_required(uint64_t copy, int argument, void* data) {
    const const_dnnl_memory_desc_t required = argument_description(primitive_, argument);
    if (!required) return;
    if (!data) {
      const auto [buffer, is_new] = pass_buffers_.try_emplace(argument);
      if (is_new) buffer->second = Buffer(Api::instance().memory_desc_get_size_f(required));
      data = buffer->second.data();
    }
    set_argument(copy, argument, required, data);
  }

  const_dnnl_primitive_desc_t primitive_;
  const LayerOperands& operands_;
  PassBuffers pass_buffers_;
  Copies wx_, u_;
  std::vector<double> conversion_times_;
};

// The timed pass.
class LayerCall final : public LayerPass {
 public:
  LayerCall(std::shared_ptr<const LayerPlan> plan, const LayerOperands& operands,
            PassBuffers pass_buffers, int threads)
      : LayerPass(plan->timed_pass(), operands, operands.copies(), kTimedReorders,
                  std::move(pass_buffers), threads),
        plan_(std::move(plan)) {
    const MemoryDesc plain = plain_u_description(plan_->storage.plain_weights());
    converts_ = !Api::instance().memory_desc_equal_f(
        plain.get(), argument_description(plan_->timed_pass(), DNNL_ARG_WEIGHTS_ITER));
    if (plan_->backward) time_reorder();
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    if (converts_) plugin::describe_conversion("u", conversion_times(), sink);
    if (implementation_name(plan_->timed_pass()) == "ref")
      sink.text("note.algorithm",
                "oneDNN's implementation ref calls optimized matrix products and vectorized "
                "pointwise code");
    sink.text("note.inputs",
              "the time includes the product with one input per step, because oneDNN has no layer "
              "without inputs");
    if (plan_->backward) describe_backward(sink);
    if (plan_->storage.is_quantized())
      sink.text("note.quantized",
                "x, h and the weights are 8-bit integers; the gates, c and the output are float. "
                "The time "
                "excludes the quantization of the weights");
    describe_emulation(plan_->storage.states, sink);
  }

 private:
  void describe_backward(plugin::Sink& sink) const {
    sink.text("note.backward",
              "the time covers both gradients in one call, including the zeroing of the weights' "
              "gradient; it excludes the preceding forward pass");
    sink.metric("reorder", reorder_ns_ / 1e3, "us", "lower");
  }

  // Measures the reorder of U's gradient into the problem's order.
  void time_reorder() {
    const Buffer plain(uint64_t(operands().rnn().weights()) * sizeof(float));
    reorder_ns_ = plugin::median_ns(
        reorder(argument_description(plan_->timed_pass(), DNNL_ARG_DIFF_WEIGHTS_ITER),
                operands().at(LayerPart::kDu, 0), plain_u_description(DEEPBENCH_F32).get(),
                plain.data(), kTimedReorders));
  }

  const std::shared_ptr<const LayerPlan> plan_;
  bool converts_ = false;
  double reorder_ns_ = 0;
};

class OnednnRnnPlan final : public plugin::TypedPlan<OnednnRnnPlan, Rnn> {
 public:
  static LibraryFacts library() { return onednn_facts(); }
  static Rnn parse(const plugin::Problem& problem) { return rnn_problem(problem); }

  OnednnRnnPlan(const Rnn& rnn, const plugin::Options& options, const std::string& candidate,
                std::shared_ptr<RowPlans<LayerPlan>> row = std::make_shared<RowPlans<LayerPlan>>())
      : TypedPlan(rnn, options),
        threads_(thread_count(options.threads)),
        row_(std::move(row)),
        plan_(plan_with_threads(rnn, candidate, threads_, *row_)),
        copies_(plan_copies(plan_->storage.touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_primitive(plan_->timed_pass(), memory_bytes(), options_.workspace, sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    Api::instance().use_threads(threads_);
    return layer_candidates(problem_, *row_);
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    return std::make_unique<OnednnRnnPlan>(problem_, options_, id, row_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands = std::make_unique<LayerOperands>(plan_->storage, copies_,
                                                    parse_inputs(options_.inputs), options_.seed);
    PassBuffers pass_buffers = plan_->backward ? run_forward_pass(*operands) : PassBuffers();
    auto call = std::make_unique<LayerCall>(plan_, *operands, std::move(pass_buffers), threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  // Sets the number of threads first, because oneDNN's choice depends on it.
  static std::shared_ptr<const LayerPlan> plan_with_threads(const Rnn& rnn,
                                                            const std::string& candidate,
                                                            int threads, RowPlans<LayerPlan>& row) {
    Api::instance().use_threads(threads);
    return plan_layer(rnn, candidate, row);
  }

  uint64_t memory_bytes() const {
    return saturating_add(plan_->storage.needed_bytes(copies_), plan_->bytes_beyond_storage());
  }

  // The backward pass needs the states and the workspace of a real forward pass.
  PassBuffers run_forward_pass(const LayerOperands& operands) const {
    LayerPass forward(plan_->forward.get(), operands, 1, 1, {}, threads_);
    forward.begin_batch();
    Api::instance().check(static_cast<dnnl_status_t>(forward.run(0)), "the forward pass");
    return forward.release_buffers();
  }

  const int threads_;
  const std::shared_ptr<RowPlans<LayerPlan>> row_;
  const std::shared_ptr<const LayerPlan> plan_;
  const CopyPlan copies_;
};

}  // namespace
}  // namespace onednn

Implementation& onednn_rnn() { return implementation_of_plan<onednn::OnednnRnnPlan>(); }

}  // namespace deepbench::cpu
