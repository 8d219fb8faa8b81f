// Attention as two batched products of cuBLASLt with a built-in softmax between them: the baseline
// of fused kernels. The scores of all heads lie in memory.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "device.hpp"
#include "implementation.hpp"
#include "ops/attention/batched_product.hpp"
#include "ops/attention/operands.hpp"
#include "ops/attention/softmax.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kUnfused = "unfused";  // the library and its only candidate

// cuBLASLt is column-major: the scores of a head are K Q^T there, and its output V^T P^T.
struct UnfusedPlan {
  UnfusedPlan(const Attention& a, uint64_t workspace_limit, int device)
      : attention(a),
        scores({a.seq_kv, a.rows(), a.dim, a.products(), true, true}, a.precision, workspace_limit,
               device),
        output({a.dim_v, a.rows(), a.seq_kv, a.products(), false, false}, a.precision,
               workspace_limit, device),
        softmax(a) {}

  uint64_t elements() const {
    return saturating_multiply(uint64_t(attention.products() * attention.rows()),
                               uint64_t(attention.seq_kv));
  }
  uint64_t score_bytes() const { return saturating_multiply(elements(), sizeof(float)); }
  // 0: the weights overwrite the scores.
  uint64_t weight_bytes() const {
    const auto size = uint64_t(size_of(attention.type()));
    return size == sizeof(float) ? 0 : saturating_multiply(elements(), size);
  }
  uint64_t library_bytes() const {
    return std::max(scores.workspace_bytes(), output.workspace_bytes());
  }
  uint64_t workspace_bytes() const {
    return saturating_add(saturating_add(score_bytes(), weight_bytes()), library_bytes());
  }

  const Attention attention;
  const BatchedProduct scores, output;
  const SoftmaxPlan softmax;
};

class UnfusedCall final : public LibraryCall {
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

  void describe(plugin::Sink& sink) const override {
    softmax_.describe(sink);
    sink.text("note.composition",
              "two batched products and a built-in softmax compose it, with the scores of masked "
              "keys; the scores of all heads lie in memory");
  }

  void enqueue(uint64_t copy) override {
    void* const weights = weights_.bytes() > 0 ? weights_.data() : scores_.data();
    plan_->scores.enqueue(operands_.at(AttentionPart::kK, copy),
                          operands_.at(AttentionPart::kQ, copy), scores_.data(), workspace_.data(),
                          stream_);
    softmax_.kernel.launch(plan_->softmax.shape(), stream_.get(),
                           reinterpret_cast<const float*>(scores_.data()),
                           static_cast<const float*>(operands_.at(AttentionPart::kSink, copy)),
                           weights, plan_->softmax.softmax);
    plan_->output.enqueue(operands_.at(AttentionPart::kV, copy), weights,
                          operands_.at(AttentionPart::kO, copy), workspace_.data(), stream_);
  }

 private:
  const std::shared_ptr<const UnfusedPlan> plan_;
  const AttentionOperands& operands_;
  Stream& stream_;
  const Buffer scores_, weights_, workspace_;
  const PlannedFunction softmax_;
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
    if (attention.is_backward)
      plugin::unsupported("the unfused products do not compute attention's gradients");
    if (size_of(attention.type()) < 2)
      plugin::unsupported("the unfused products do not compute attention in " +
                          std::string(attention.precision.name));
    lt::handle(options.device);  // its making is no part of planning
    const plugin::HostTimer timer;
    const auto workspace = uint64_t(std::max<int64_t>(0, options.workspace));
    plan_ = std::make_shared<const UnfusedPlan>(attention, workspace, options.device);
    planning_ns_ = timer.elapsed_ns();
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(std::string(kUnfused) + " with cublaslt " + lt::version(),
                  plan_->scores.algorithm() + ", softmax, " + plan_->output.algorithm(),
                  memory_bytes(), plan_->workspace_bytes(), sink);
    sink.real("planning_ns", planning_ns_);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kUnfused}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<AttentionOperands>(
        problem_, copies_, parse_inputs(options_.inputs), options_.seed, DeviceMemory(stream));
    auto call = std::make_unique<UnfusedCall>(plan_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
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
