// Attention and its gradients through cuDNN's fused engines, which keep the scores in registers.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "buffer.hpp"
#include "cudnn/graph_execution.hpp"
#include "cudnn/handle.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "implementation.hpp"
#include "ops/attention/cudnn_graph.hpp"
#include "ops/attention/cudnn_limits.hpp"
#include "ops/attention/operands.hpp"
#include "prepared_kernel.hpp"
#include "requirements.hpp"

namespace deepbench::cuda {
namespace {

// The operations of attention and an engine that computes them.
struct AttentionExecution {
  AttentionExecution(const Attention& attention, const std::string& engine, const Stream& stream)
      : operations(attention),
        graph(operations.descriptors(),
              attention.is_backward ? "these gradients of attention" : "this attention", engine,
              stream) {}

  const AttentionOperations operations;
  const GraphExecution graph;
};

using Execution = std::shared_ptr<const AttentionExecution>;

class FusedCall : public GraphCall {
 public:
  FusedCall(Execution execution, const Stream& stream)
      : GraphCall(execution->graph, stream), execution_(std::move(execution)) {}

 protected:
  void add_copy(const AttentionOperations::Pointers& pointers) {
    GraphCall::add_copy(execution_->operations.make_variant_pack(pointers));
  }

 private:
  const Execution execution_;
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
  ForwardCall(const Execution& execution, const AttentionOperands& operands,
              uint64_t statistics_bytes, Stream& stream)
      : FusedCall(execution, stream),
        workspace_(execution->graph.workspace_bytes()),
        statistics_(statistics_bytes) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      add_copy(forward_pointers(operands, copy, statistics_.data(), workspace_.data()));
  }

 private:
  const Buffer workspace_, statistics_;
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
        workspace_(std::max(execution->graph.workspace_bytes(), forward->graph.workspace_bytes())),
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
    cudnn_handle(stream);  // creates the handle outside the planning time
    if (attention.is_backward)
      forward_ = std::make_shared<const AttentionExecution>(forward_of(attention), "", stream);
    const plugin::HostTimer timer;
    execution_ = std::make_shared<const AttentionExecution>(attention, candidate, stream);
    planning_ns_ = timer.elapsed_ns();
  }

  void describe(plugin::Sink& sink) const override {
    describe_plan("cudnn " + version(), execution_->graph.engine(), memory_bytes(),
                  workspace_bytes(), sink);
    sink.real("planning_ns", planning_ns_);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
  }
  std::vector<std::string> candidates(int64_t) const override {
    return execution_->graph.engines();
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
      return std::make_unique<GradientCall>(execution_, forward_, problem_, operands, stream);
    return std::make_unique<ForwardCall>(execution_, operands, statistics_bytes(), stream);
  }
  uint64_t statistics_bytes() const { return AttentionOperations::statistics_bytes(problem_); }
  uint64_t sum_bytes() const {
    if (!problem_.is_backward) return statistics_bytes();
    return saturating_add(AttentionOperations::row_sum_bytes(problem_),
                          AttentionOperations::query_sum_bytes(problem_));
  }
  uint64_t workspace_bytes() const {
    return saturating_add(execution_->graph.workspace_bytes(), sum_bytes());
  }
  // The forward pass and its gradients share one workspace.
  uint64_t memory_bytes() const {
    const uint64_t library = std::max(execution_->graph.workspace_bytes(),
                                      forward_ ? forward_->graph.workspace_bytes() : 0);
    return saturating_add(AttentionOperands::needed_bytes(problem_, copies_),
                          saturating_add(library, sum_bytes()));
  }

  const plugin::CopyPlan copies_;
  Execution execution_;
  Execution forward_;  // the forward pass before gradients
  double planning_ns_ = 0;
};

}  // namespace

Implementation& cudnn_attention() { return implementation_of_plan<CudnnAttentionPlan>(); }

}  // namespace deepbench::cuda
