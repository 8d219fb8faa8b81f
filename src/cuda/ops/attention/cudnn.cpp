// Attention and its gradients through cuDNN's fused engines, which keep the scores in registers.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "cudnn/graph_execution.hpp"
#include "cudnn/handle.hpp"
#include "implementation.hpp"
#include "ops/attention/cudnn_graph.hpp"
#include "ops/attention/cudnn_limits.hpp"
#include "ops/attention/operands.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {
namespace {

using Statistics = AttentionOperations::Statistics;

// The operations of attention and the engines that compute them, which all plans of the problem
// share.
struct AttentionGraph {
  AttentionGraph(const Attention& attention, Statistics statistics, const Stream& stream)
      : operations(attention, statistics),
        engines(operations.descriptors(),
                attention.is_backward ? "these gradients of attention" : "this attention",
                cudnn_handle(stream)) {}

  const AttentionOperations operations;
  GraphEngines engines;
};

// A graph with one of its engines, which it owns.
struct Execution {
  Execution(std::shared_ptr<AttentionGraph> of, const std::string& engine_name)
      : graph(std::move(of)), built(&graph->engines.build(engine_name)) {}

  std::shared_ptr<AttentionGraph> graph;
  const GraphExecution* built;
};

class FusedCall : public GraphCall {
 public:
  FusedCall(Execution execution, const Stream& stream)
      : GraphCall(*execution.built, stream), graph_(std::move(execution.graph)) {}

 protected:
  void add_copy(const AttentionOperations::Pointers& pointers) {
    GraphCall::add_copy(graph_->operations.make_variant_pack(pointers));
  }

 private:
  const std::shared_ptr<const AttentionGraph> graph_;
};

AttentionOperations::Pointers forward_pointers(const AttentionOperands& operands, uint64_t copy,
                                               void* statistics, void* workspace) {
  return {operands.at(AttentionPart::kQ, copy),
          operands.at(AttentionPart::kK, copy),
          operands.at(AttentionPart::kV, copy),
          operands.at(AttentionPart::kO, copy),
          statistics,
          workspace};
}

class ForwardCall final : public FusedCall {
 public:
  ForwardCall(const Execution& execution, const AttentionOperands& operands, Stream& stream)
      : FusedCall(execution, stream), workspace_(execution.built->workspace_bytes()) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      add_copy(forward_pointers(operands, copy, nullptr, workspace_.data()));
  }

 private:
  const Buffer workspace_;
};

// The forward pass from whose results gradients start. It writes copy 0 only.
class ForwardPass final : public FusedCall {
 public:
  ForwardPass(const Execution& execution, const AttentionOperands& operands, void* workspace,
              Stream& stream)
      : FusedCall(execution, stream) {
    add_copy(forward_pointers(operands, 0, operands.at(AttentionPart::kLogSum, 0), workspace));
  }
};

class GradientCall final : public FusedCall {
 public:
  GradientCall(const Execution& execution, const Execution& forward, const Attention& attention,
               AttentionOperands& operands, Stream& stream)
      : FusedCall(execution, stream),
        operands_(operands),
        workspace_(std::max(execution.built->workspace_bytes(), forward.built->workspace_bytes())),
        row_sums_(AttentionOperations::row_sum_bytes(attention)),
        query_sums_(AttentionOperations::query_sum_bytes(attention)),
        forward_(forward, operands, workspace_.data(), stream) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) add_copy(pointers(copy));
    GradientCall::operands_refilled();
  }

  // Runs the forward pass outside the timed calls.
  void operands_refilled() override {
    forward_.enqueue(0);
    operands_.replicate_forward_results();
  }

 private:
  AttentionOperations::Pointers pointers(uint64_t copy) const {
    AttentionOperations::Pointers to = forward_pointers(
        operands_, copy, operands_.at(AttentionPart::kLogSum, copy), workspace_.data());
    to.d_o = operands_.at(AttentionPart::kDo, copy);
    to.dq = operands_.at(AttentionPart::kDq, copy);
    to.dk = operands_.at(AttentionPart::kDk, copy);
    to.dv = operands_.at(AttentionPart::kDv, copy);
    to.row_sums = row_sums_.data();
    to.query_sums = query_sums_.data();
    return to;
  }

  AttentionOperands& operands_;
  const Buffer workspace_, row_sums_, query_sums_;
  ForwardPass forward_;
};

Attention forward_of(Attention attention) {
  attention.is_backward = false;
  return attention;
}

class CudnnAttentionPlan final : public plugin::TypedPlan<CudnnAttentionPlan, Attention> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cudnn>(); }
  static Attention parse(const plugin::Problem& problem) { return attention_problem(problem); }

  CudnnAttentionPlan(const Attention& attention, const plugin::Options& options,
                     const std::string& candidate)
      : TypedPlan(attention, options),
        copies_(plan_copies(AttentionOperands::touched_bytes(attention), options)) {
    require_built_in_kernels("attention");
    require_precision_support(attention.precision, options.device);
    require_fused_attention(attention, version());
    const Stream& stream = Stream::of(options.device);
    if (attention.is_backward)
      forward_.emplace(
          std::make_shared<AttentionGraph>(forward_of(attention), Statistics::kStored, stream), "");
    execution_.emplace(std::make_shared<AttentionGraph>(attention, Statistics::kDiscarded, stream),
                       candidate);
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan("cudnn " + version(), execution_->built->engine(), memory_bytes(),
                  workspace_bytes(), sink);
    sink.real("planning_ns", execution_->built->planning_ns());
    sink.integer("outputs", int64_t(problem_.outputs().size()));
  }
  std::vector<std::string> candidates(int64_t) const override {
    return execution_->graph->engines.names(execution_->built->engine());
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    auto candidate = std::make_unique<CudnnAttentionPlan>(*this);
    candidate->execution_.emplace(execution_->graph, id);
    return candidate;
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<AttentionOperands>(
        problem_, copies_, parse_inputs(options_.inputs), options_.seed, DeviceMemory(stream));
    auto call = call_on(*operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static std::string version() { return library().version; }
  std::unique_ptr<LibraryCall> call_on(AttentionOperands& operands, Stream& stream) const {
    if (problem_.is_backward)
      return std::make_unique<GradientCall>(*execution_, *forward_, problem_, operands, stream);
    return std::make_unique<ForwardCall>(*execution_, operands, stream);
  }
  uint64_t sum_bytes() const {
    if (!problem_.is_backward) return 0;
    return saturating_add(AttentionOperations::row_sum_bytes(problem_),
                          AttentionOperations::query_sum_bytes(problem_));
  }
  uint64_t workspace_bytes() const {
    return saturating_add(execution_->built->workspace_bytes(), sum_bytes());
  }
  // The forward pass and its gradients share one workspace.
  uint64_t memory_bytes() const {
    const uint64_t library = std::max(execution_->built->workspace_bytes(),
                                      forward_ ? forward_->built->workspace_bytes() : 0);
    return saturating_add(AttentionOperands::needed_bytes(problem_, copies_),
                          saturating_add(library, sum_bytes()));
  }

  const plugin::CopyPlan copies_;
  std::optional<Execution> execution_;
  std::optional<Execution> forward_;  // the forward pass before gradients
};

}  // namespace

Implementation& cudnn_attention() { return implementation_of_plan<CudnnAttentionPlan>(); }

}  // namespace deepbench::cuda
