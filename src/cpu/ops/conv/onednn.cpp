// Convolutions through oneDNN: the forward pass and the gradients of the data and of the filters.
#include "deepbench/backend/conversion_facts.hpp"
#include "deepbench/ops/conv/transform_factor.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "ops/conv/onednn_operands.hpp"
#include "ops/conv/onednn_plan.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

class ConvCall final : public PrimitiveCall {
 public:
  ConvCall(std::shared_ptr<const ConvPlan> plan, ConvOperands& operands, int threads)
      : PrimitiveCall(plan->primitive.get(), operands.copies(), threads),
        plan_(std::move(plan)),
        operands_(operands),
        scale_(float(plan_->conv.output_scale())) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) {
      for (size_t which : {0, 1})
        set_argument(copy, plan_->inputs[which].argument, plan_->inputs[which].stored,
                     operands.input(which, copy));
      set_argument(copy, plan_->output.argument, plan_->output.stored, operands.result(copy));
      if (plan_->conv.saturates())
        set_argument(copy, DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, plan_->scale.get(), &scale_);
    }
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    if (!operands_.filters_reorders().empty())
      plugin::describe_conversion("w", operands_.filters_reorders(), sink);
    if (operands_.activations_reorder_ns() > 0)
      sink.metric("reorder", operands_.activations_reorder_ns() / 1e3, "us", "lower");
    if (plan_->is_winograd()) {
      sink.text("accumulator", "winograd");
      sink.real("transform_factor", winograd_factor(plan_->conv));
    }
    // oneDNN converts integer sums through float, which is exact up to 2^24.
    if (plan_->conv.precision.precision == Precision::kInt8) sink.text("accumulator", "float");
    describe_emulation(plan_->inputs[0].type, sink);
  }

 private:
  const std::shared_ptr<const ConvPlan> plan_;
  ConvOperands& operands_;
  float scale_;  // The scale of the sums. Every call reads it.
};

struct ConvProblem {
  Conv conv;
  std::string layout;  // layout of the activations, in the problem's terms
};

class OnednnConvPlan final : public plugin::TypedPlan<OnednnConvPlan, ConvProblem> {
 public:
  static LibraryFacts library() { return onednn_facts(); }
  static ConvProblem parse(const plugin::Problem& problem) {
    return {conv_problem(problem), problem.text("layout")};
  }

  OnednnConvPlan(const ConvProblem& problem, const plugin::Options& options,
                 const std::string& candidate,
                 std::shared_ptr<RowPlans<ConvPlan>> row = std::make_shared<RowPlans<ConvPlan>>())
      : TypedPlan(problem, options),
        threads_(thread_count(options.threads)),
        row_(std::move(row)),
        plan_(plan_with_threads(problem, candidate, threads_, *row_)),
        copies_(plan_copies(plan_->touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_primitive(plan_->primitive.get(), memory_bytes(), options_.workspace, sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    Api::instance().use_threads(threads_);
    return conv_candidates(problem_.conv, problem_.layout, *row_);
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    return std::make_unique<OnednnConvPlan>(problem_, options_, id, row_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands = std::make_unique<ConvOperands>(plan_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed);
    auto call = std::make_unique<ConvCall>(plan_, *operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  // Sets the number of threads first, because oneDNN's choice depends on it.
  static std::shared_ptr<const ConvPlan> plan_with_threads(const ConvProblem& problem,
                                                           const std::string& candidate,
                                                           int threads, RowPlans<ConvPlan>& row) {
    Api::instance().use_threads(threads);
    return plan_conv(problem.conv, problem.layout, candidate, row);
  }

  uint64_t memory_bytes() const {
    return saturating_add(conv_bytes(*plan_, copies_), scratchpad_bytes(plan_->primitive.get()));
  }

  const int threads_;
  const std::shared_ptr<RowPlans<ConvPlan>> row_;
  const std::shared_ptr<const ConvPlan> plan_;
  const CopyPlan copies_;
};

}  // namespace
}  // namespace onednn

Implementation& onednn_conv() { return implementation_of_plan<onednn::OnednnConvPlan>(); }

}  // namespace deepbench::cpu
