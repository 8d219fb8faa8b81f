// Convolutions through oneDNN: the forward pass and the gradients of the data and of the filters.
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
  ConvCall(std::shared_ptr<const ConvPlan> plan, ConvOperands& operands, int64_t workspace_limit,
           int threads)
      : PrimitiveCall(plan->primitive.get(), operands.copies(), workspace_limit, threads),
        plan_(std::move(plan)),
        operands_(operands),
        scale_(float(plan_->conv.output_scale())) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) {
      for (size_t which : {0, 1})
        set(copy, plan_->inputs[which].argument, plan_->inputs[which].stored,
            operands.input(which, copy));
      set(copy, plan_->output.argument, plan_->output.stored, operands.output(copy));
      if (plan_->conv.saturates())
        set(copy, DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, plan_->scale.get(), &scale_);
    }
  }

  void begin_batch() override {
    PrimitiveCall::begin_batch();
    operands_.invalidate_ordered();
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    if (operands_.filters_reorder_ns() > 0) {
      sink.text("converted", "w");
      sink.real("conversion_ns", operands_.filters_reorder_ns());
    }
    if (operands_.activations_reorder_ns() > 0)
      sink.metric("reorder", operands_.activations_reorder_ns() / 1e3, "us", "lower");
    if (plan_->is_winograd()) sink.text("accumulator", "winograd");
    // oneDNN stores integer sums by way of float, which is exact up to 2^24.
    if (plan_->conv.precision.precision == Precision::kInt8) sink.text("accumulator", "float");
    describe_emulation(plan_->inputs[0].type, sink);
  }

 private:
  const std::shared_ptr<const ConvPlan> plan_;
  ConvOperands& operands_;
  float scale_;  // The scale of the sums. Every call reads it.
};

class OnednnConv final : public OnednnImplementation {
 public:
  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan(problem, options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const ConvPlan planned = plan(problem, options);
    return saturating_add(conv_bytes(planned, plan_copies(planned.touched_bytes(), options)),
                          scratchpad_bytes(planned.primitive.get()));
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    Api::instance().use_threads(thread_count(options.threads));
    return conv_candidates(conv_problem(problem), problem.text("layout"));
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    const int threads = thread_count(options.threads);
    require_memory_for_operands(memory_needed(problem, options));
    const auto planned = std::make_shared<const ConvPlan>(plan(problem, options));
    const CopyPlan copies = plan_copies(planned->touched_bytes(), options);
    auto operands =
        std::make_unique<ConvOperands>(planned, copies, parse_inputs(options.inputs), options.seed);
    auto call = std::make_unique<ConvCall>(planned, *operands, options.workspace, threads);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies, threads);
  }

 private:
  // Sets the number of threads first, because oneDNN's choice depends on it.
  static ConvPlan plan(const plugin::Problem& problem, const plugin::Options& options) {
    Api::instance().use_threads(thread_count(options.threads));
    return plan_conv(conv_problem(problem), problem.text("layout"), options.candidate);
  }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_conv() {
  static auto* implementation = new onednn::OnednnConv();
  return *implementation;
}

}  // namespace deepbench::cpu
