// Attention through oneDNN, which has no attention of its own: its batched product for the scores,
// a built-in softmax that knows the mask, and the product with the values; and its gradients.
#include <memory>
#include <string>
#include <vector>

#include "copies.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "ops/attention/onednn_passes.hpp"
#include "ops/attention/onednn_plan.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

constexpr const char* kComposed = "composed";  // the only candidate

class ComposedCall : public OnednnCall {
 public:
  ComposedCall(std::shared_ptr<const AttentionPlan> plan, int threads)
      : OnednnCall(threads), plan_(std::move(plan)) {}

  void describe(plugin::Sink& sink) const override {
    const std::string loops =
        plan_->attention.is_backward ? "built-in loops" : "a built-in softmax";
    const std::string masked = plan_->blocks.size() == 1
                                   ? "with the scores of masked keys"
                                   : "without keys that no query of a block sees";
    sink.text("note.composition", "oneDNN has no fused attention: its batched products and " +
                                      loops + " compose it, " + masked);
    describe_emulation(plan_->attention.type(), sink);
  }

 protected:
  const std::shared_ptr<const AttentionPlan> plan_;
};

class ForwardCall final : public ComposedCall {
 public:
  ForwardCall(std::shared_ptr<const AttentionPlan> plan, const AttentionOperands& operands,
              int threads)
      : ComposedCall(std::move(plan), threads), pass_(*plan_, operands, threads) {}

  int run(uint64_t copy) override { return pass_.run(copy); }

 private:
  const ForwardPass pass_;
};

class GradientCall final : public ComposedCall {
 public:
  GradientCall(std::shared_ptr<const AttentionPlan> plan, AttentionOperands& operands, int threads)
      : ComposedCall(std::move(plan), threads),
        operands_(operands),
        threads_(threads),
        pass_(*plan_, operands, threads) {
    GradientCall::operands_refilled();
  }

  int run(uint64_t copy) override { return pass_.run(copy); }

  // Runs the forward pass from whose results gradients start, outside the timed calls.
  void operands_refilled() override {
    const ForwardPass forward(*plan_, operands_, threads_);
    const Api& api = Api::instance();
    api.check(static_cast<dnnl_status_t>(forward.run(0)), "computing the forward pass");
    api.check(api.stream_wait_f(api.stream()), "computing the forward pass");
    operands_.replicate_forward_results();
  }

 private:
  AttentionOperands& operands_;
  const int threads_;
  const GradientPass pass_;
};

class OnednnAttentionPlan final : public plugin::TypedPlan<OnednnAttentionPlan, Attention> {
 public:
  static LibraryFacts library() { return onednn_facts(); }
  static Attention parse(const plugin::Problem& problem) { return attention_problem(problem); }

  OnednnAttentionPlan(const Attention& attention, const plugin::Options& options,
                      const std::string& candidate)
      : TypedPlan(attention, options),
        threads_(thread_count(options.threads)),
        copies_(plan_copies(AttentionOperands::touched_bytes(attention), options)) {
    if (!candidate.empty()) require_candidate("onednn", {kComposed}, candidate);
    Api::instance().use_threads(threads_);
    const plugin::HostTimer timer;
    plan_ = std::make_shared<const AttentionPlan>(plan_attention(attention, options.workspace));
    planning_ns_ = timer.elapsed_ns();
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan(library_name(), plan_->algorithm(), memory_bytes(), plan_->workspace_bytes(),
                  sink);
    sink.real("planning_ns", planning_ns_);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
    if (plan_->pair_bytes() + plan_->sum_bytes() > uint64_t(options_.workspace))
      sink.text("note.workspace", "one key head takes more than the workspace limit");
  }
  std::vector<std::string> candidates(int64_t) const override { return {kComposed}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands = std::make_unique<AttentionOperands>(
        problem_, copies_, parse_inputs(options_.inputs), options_.seed);
    auto call = call_on(*operands);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  std::unique_ptr<ComposedCall> call_on(AttentionOperands& operands) const {
    if (problem_.is_backward) return std::make_unique<GradientCall>(plan_, operands, threads_);
    return std::make_unique<ForwardCall>(plan_, operands, threads_);
  }
  uint64_t memory_bytes() const {
    uint64_t workspace = plan_->workspace_bytes();
    // The forward pass that gradients start from has scores, weights and a scratchpad of its own.
    if (problem_.is_backward)
      workspace = saturating_add(
          workspace, plan_->score_bytes() + plan_->weight_bytes() + plan_->scratchpad_bytes());
    return saturating_add(AttentionOperands::needed_bytes(problem_, copies_), workspace);
  }

  const int threads_;
  const CopyPlan copies_;
  std::shared_ptr<const AttentionPlan> plan_;
  double planning_ns_ = 0;
};

}  // namespace
}  // namespace onednn

Implementation& onednn_attention() { return implementation_of_plan<onednn::OnednnAttentionPlan>(); }

}  // namespace deepbench::cpu
