// Attention as two batched products of cuBLASLt with a built-in softmax between them, and its
// gradients as five products with a built-in softmax gradient: the baseline of fused kernels. The
// scores of all heads are stored in memory.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "device.hpp"
#include "implementation.hpp"
#include "ops/attention/operands.hpp"
#include "ops/attention/unfused_plan.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kUnfused = "unfused";  // the library and its only candidate

class UnfusedCall : public LibraryCall {
 public:
  UnfusedCall(std::shared_ptr<const UnfusedPlan> plan, const AttentionOperands& operands,
              Stream& stream)
      : plan_(std::move(plan)),
        operands_(operands),
        stream_(stream),
        scores_(plan_->score_bytes()),
        weights_(plan_->weight_bytes()),
        workspace_(plan_->library_bytes()),
        softmax_(planned_function("attention_softmax", plan_->softmax.expression(), stream)) {}

 protected:
  void enqueue_scores(uint64_t copy) {
    enqueue_product(plan_->scores, at(AttentionPart::kK, copy), at(AttentionPart::kQ, copy),
                    scores_.data());
  }
  // `log_sums` is null, or receives the logarithms from which gradients start.
  void enqueue_output(uint64_t copy, void* log_sums) {
    enqueue_scores(copy);
    softmax_.kernel.launch(plan_->softmax.shape(), stream_.get(),
                           reinterpret_cast<const float*>(scores_.data()), sinks(copy), weights(),
                           static_cast<float*>(log_sums), plan_->softmax.softmax);
    enqueue_product(plan_->output, at(AttentionPart::kV, copy), weights(),
                    at(AttentionPart::kO, copy));
  }
  void enqueue_product(const BatchedProduct& product, const void* a, const void* b, void* d) {
    product.enqueue(a, b, d, workspace_.data(), stream_);
  }
  void* at(AttentionPart part, uint64_t copy) const { return operands_.at(part, copy); }
  const float* sinks(uint64_t copy) const {
    return static_cast<const float*>(at(AttentionPart::kSink, copy));
  }
  void* weights() const { return weights_.bytes() > 0 ? weights_.data() : scores_.data(); }

  const std::shared_ptr<const UnfusedPlan> plan_;
  const AttentionOperands& operands_;
  Stream& stream_;
  const Buffer scores_, weights_, workspace_;
  const PlannedFunction softmax_;
};

class UnfusedForwardCall final : public UnfusedCall {
 public:
  using UnfusedCall::UnfusedCall;

  void describe(plugin::Sink& sink) const override {
    softmax_.describe(sink);
    sink.text("note.composition",
              "two batched products and a built-in softmax compose it, with the scores of masked "
              "keys; the scores of all heads lie in memory");
  }
  void enqueue(uint64_t copy) override { enqueue_output(copy, nullptr); }
};

class UnfusedGradientCall final : public UnfusedCall {
 public:
  UnfusedGradientCall(std::shared_ptr<const UnfusedPlan> plan, AttentionOperands& operands,
                      Stream& stream)
      : UnfusedCall(std::move(plan), operands, stream),
        results_(operands),
        products_(plan_->score_bytes()),
        gradients_(plan_->weight_bytes()),
        sink_terms_(plan_->sink_term_bytes()),
        softmax_gradient_(
            planned_function("attention_softmax", plan_->softmax.gradient_expression(), stream)) {
    if (plan_->attention.has_sink)
      sink_gradient_.emplace(
          planned_function("attention_softmax", plan_->softmax.sink_expression(), stream));
    UnfusedGradientCall::operands_refilled();
  }

  void describe(plugin::Sink& sink) const override {
    softmax_gradient_.describe(sink);
    sink.text("note.composition",
              "five batched products and a built-in softmax gradient compose it, with the scores "
              "of masked keys; the scores of all heads and their gradients lie in memory");
  }

  // Runs the forward pass from whose results gradients start, outside the timed calls.
  void operands_refilled() override {
    enqueue_output(0, at(AttentionPart::kLogSum, 0));
    results_.replicate_forward_results();
  }

  void enqueue(uint64_t copy) override {
    const UnfusedPlan::Gradients& products = *plan_->gradients;
    enqueue_scores(copy);
    enqueue_product(products.weights, at(AttentionPart::kV, copy), at(AttentionPart::kDo, copy),
                    products_.data());
    enqueue_softmax_gradient(copy);
    enqueue_product(products.dq, at(AttentionPart::kK, copy), gradients(),
                    at(AttentionPart::kDq, copy));
    enqueue_product(products.dk, at(AttentionPart::kQ, copy), gradients(),
                    at(AttentionPart::kDk, copy));
    enqueue_product(products.dv, at(AttentionPart::kDo, copy), weights(),
                    at(AttentionPart::kDv, copy));
  }

 private:
  void enqueue_softmax_gradient(uint64_t copy) {
    const SoftmaxPlan& plan = plan_->softmax;
    auto* const sink_terms = reinterpret_cast<float*>(sink_terms_.data());
    softmax_gradient_.kernel.launch(plan.shape(), stream_.get(),
                                    reinterpret_cast<const float*>(scores_.data()),
                                    reinterpret_cast<const float*>(products_.data()),
                                    static_cast<const void*>(at(AttentionPart::kDo, copy)),
                                    static_cast<const void*>(at(AttentionPart::kO, copy)),
                                    static_cast<const float*>(at(AttentionPart::kLogSum, copy)),
                                    sinks(copy), weights(), gradients(), sink_terms, plan.softmax);
    if (!sink_gradient_) return;
    sink_gradient_->kernel.launch(
        plan.sink_shape(), stream_.get(), static_cast<const float*>(sink_terms),
        static_cast<float*>(at(AttentionPart::kDsink, copy)), plan.softmax);
  }
  void* gradients() const { return gradients_.bytes() > 0 ? gradients_.data() : products_.data(); }

  AttentionOperands& results_;
  const Buffer products_, gradients_, sink_terms_;
  const PlannedFunction softmax_gradient_;
  std::optional<PlannedFunction> sink_gradient_;  // null if there is no sink
};

class UnfusedAttentionPlan final : public plugin::TypedPlan<UnfusedAttentionPlan, Attention> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::CublasLt>(); }
  static Attention parse(const plugin::Problem& problem) { return attention_problem(problem); }

  UnfusedAttentionPlan(const Attention& attention, const plugin::Options& options,
                       const std::string& candidate)
      : TypedPlan(attention, options),
        copies_(plan_copies(AttentionOperands::touched_bytes(attention), options)) {
    if (!candidate.empty()) require_candidate(kUnfused, {kUnfused}, candidate);
    require_built_in_kernels("attention");
    require_precision_support(attention.precision, options.device);
    if (size_of(attention.type()) < 2)
      plugin::unsupported("the unfused products do not compute attention in " +
                          std::string(attention.precision.name));
    lt::handle(options.device);  // creates the handle outside the planning time
    const plugin::HostTimer timer;
    const auto workspace = uint64_t(std::max<int64_t>(0, options.workspace));
    plan_ = std::make_shared<const UnfusedPlan>(attention, workspace, options.device);
    planning_ns_ = timer.elapsed_ns();
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(std::string(kUnfused) + " with cublaslt " + lt::version(), plan_->algorithm(),
                  memory_bytes(), plan_->workspace_bytes(), sink);
    sink.real("planning_ns", planning_ns_);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
    if (const std::string products = plan_->products(); !products.empty())
      sink.text("note.products", products);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kUnfused}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<AttentionOperands>(
        problem_, copies_, parse_inputs(options_.inputs), options_.seed, DeviceMemory(stream));
    auto call = call_on(*operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  std::unique_ptr<LibraryCall> call_on(AttentionOperands& operands, Stream& stream) const {
    if (problem_.is_backward) return std::make_unique<UnfusedGradientCall>(plan_, operands, stream);
    return std::make_unique<UnfusedForwardCall>(plan_, operands, stream);
  }
  uint64_t memory_bytes() const {
    return saturating_add(AttentionOperands::needed_bytes(problem_, copies_),
                          plan_->workspace_bytes());
  }

  const plugin::CopyPlan copies_;
  std::shared_ptr<const UnfusedPlan> plan_;
  double planning_ns_ = 0;
};

}  // namespace

Implementation& unfused_attention() { return implementation_of_plan<UnfusedAttentionPlan>(); }

}  // namespace deepbench::cuda
