// Batch and layer normalization through oneDNN, whose training leaves the variance.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "implementation.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "ops/norm/operands.hpp"
#include "prepared_kernel.hpp"
#include "routes.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

struct NormPrimitives {
  PrimitiveDesc forward;   // for gradients: the pass from whose statistics they start
  PrimitiveDesc backward;  // null unless the phase is bwd

  dnnl_primitive_desc_t timed() const { return (backward ? backward : forward).get(); }
};

// The columns of batch are channels, and its rows are the places of one image.
MemoryDesc matrix_description(const Norm& norm) {
  const Api& api = Api::instance();
  const bool is_batch = norm.kind == NormKind::kBatch;
  const dnnl_dims_t image = {1, norm.columns, norm.rows}, rows = {norm.rows, norm.columns};
  const dnnl_dims_t image_strides = {norm.elements(), 1, norm.columns},
                    row_strides = {norm.columns, 1};
  dnnl_memory_desc_t made = nullptr;
  api.check(api.memory_desc_create_with_strides_f(&made, is_batch ? 3 : 2, is_batch ? image : rows,
                                                  data_type(norm.precision.c),
                                                  is_batch ? image_strides : row_strides),
            "describing a matrix");
  return MemoryDesc(made);
}

void require_norm(dnnl_status_t status, const Norm& norm) {
  require_primitive(status, "such normalization", norm.precision);
}

PrimitiveDesc forward_primitive(const Norm& norm, const_dnnl_memory_desc_t matrix) {
  const Api& api = Api::instance();
  const Attributes attributes = strict_attributes();
  const dnnl_prop_kind_t phase =
      norm.phase == NormPhase::kInference ? dnnl_forward_inference : dnnl_forward_training;
  unsigned flags = dnnl_use_scale | dnnl_use_shift;
  if (norm.has_running_statistics()) flags |= dnnl_use_global_stats;
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = norm.kind == NormKind::kBatch
                                   ? api.batch_normalization_forward_primitive_desc_create_f(
                                         &made, api.engine(), phase, matrix, matrix,
                                         float(Norm::kEpsilon), flags, attributes.get())
                                   : api.layer_normalization_forward_primitive_desc_create_f(
                                         &made, api.engine(), phase, matrix, matrix, nullptr,
                                         float(Norm::kEpsilon), flags, attributes.get());
  require_norm(status, norm);
  return PrimitiveDesc(made);
}

PrimitiveDesc backward_primitive(const Norm& norm, const_dnnl_memory_desc_t matrix,
                                 const_dnnl_primitive_desc_t forward) {
  const Api& api = Api::instance();
  const Attributes attributes = strict_attributes();
  const unsigned flags = dnnl_use_scale | dnnl_use_shift;
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status =
      norm.kind == NormKind::kBatch
          ? api.batch_normalization_backward_primitive_desc_create_f(
                &made, api.engine(), dnnl_backward, matrix, matrix, matrix, float(Norm::kEpsilon),
                flags, forward, attributes.get())
          : api.layer_normalization_backward_primitive_desc_create_f(
                &made, api.engine(), dnnl_backward, matrix, matrix, matrix, nullptr,
                float(Norm::kEpsilon), flags, forward, attributes.get());
  require_norm(status, norm);
  return PrimitiveDesc(made);
}

NormPrimitives plan_norm(const Norm& norm, const std::string& candidate) {
  if (norm.kind == NormKind::kRms || norm.kind == NormKind::kGroup)
    plugin::unsupported("oneDNN " + Api::instance().version() +
                        " has no normalization of kind=rms and kind=group");
  require_precision(norm.precision.precision);
  const MemoryDesc matrix = matrix_description(norm);
  NormPrimitives made;
  made.forward = forward_primitive(norm, matrix.get());
  if (norm.is_backward())
    made.backward = backward_primitive(norm, matrix.get(), made.forward.get());
  if (!candidate.empty() && !advance_to_implementation(made.timed(), candidate))
    reject_candidate("onednn", candidate);
  return made;
}

// One primitive on the operands. The forward pass that precedes gradients leaves its y in dx.
class NormPass final : public PrimitiveCall {
 public:
  NormPass(const_dnnl_primitive_desc_t primitive, const NormOperands& operands, bool is_backward,
           int threads)
      : PrimitiveCall(primitive, operands.copies(), threads), operands_(operands) {
    const Norm& norm = operands.norm();
    const bool precedes = norm.is_backward() && !is_backward;
    set(DNNL_ARG_SRC, NormPart::kX);
    set(DNNL_ARG_MEAN, NormPart::kMean);
    set(DNNL_ARG_VARIANCE, NormPart::kSpread);
    set(DNNL_ARG_SCALE, NormPart::kScale);
    // No statistics and no gradients depend on the shift, but layers demand one.
    if (!norm.is_backward() || precedes || norm.kind == NormKind::kLayer)
      set(DNNL_ARG_SHIFT, norm.is_backward() ? NormPart::kScale : NormPart::kShift);
    if (is_backward) {
      set(DNNL_ARG_DIFF_DST, NormPart::kDy);
      set(DNNL_ARG_DIFF_SRC, NormPart::kDx);
      set(DNNL_ARG_DIFF_SCALE, NormPart::kDscale);
      set(DNNL_ARG_DIFF_SHIFT, NormPart::kDshift);
    } else {
      set(DNNL_ARG_DST, precedes ? NormPart::kDx : NormPart::kY);
    }
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    if (operands_.norm().phase == NormPhase::kTraining) sink.text("statistics", "variance");
    describe_emulation(operands_.norm().precision.c, sink);
  }

 private:
  void set(int argument, NormPart part) {
    if (!operands_.at(part, 0)) return;
    for (uint64_t copy = 0; copy < operands_.copies(); ++copy)
      set_argument(copy, argument, description(dnnl_query_exec_arg_md, argument),
                   operands_.at(part, copy));
  }

  const NormOperands& operands_;
};

class NormCall final : public OnednnCall {
 public:
  NormCall(std::shared_ptr<const NormPrimitives> plan, NormOperands& operands, int threads)
      : OnednnCall(threads),
        plan_(std::move(plan)),
        operands_(operands),
        threads_(threads),
        timed_(plan_->timed(), operands, operands.norm().is_backward(), threads) {
    NormCall::operands_refilled();
  }

  int run(uint64_t copy) override { return timed_.run(copy); }
  void describe(plugin::Sink& sink) const override { timed_.describe(sink); }

  void operands_refilled() override {
    if (!operands_.norm().is_backward()) return;
    NormPass forward(plan_->forward.get(), operands_, false, threads_);
    const Api& api = Api::instance();
    api.check(static_cast<dnnl_status_t>(forward.run(0)), "computing the statistics");
    api.check(api.stream_wait_f(api.stream()), "computing the statistics");
    operands_.replicate_statistics();
    operands_.poison_outputs();
  }

 private:
  const std::shared_ptr<const NormPrimitives> plan_;
  NormOperands& operands_;
  const int threads_;
  NormPass timed_;
};

class OnednnNormPlan final : public plugin::TypedPlan<OnednnNormPlan, Norm> {
 public:
  static LibraryFacts library() { return onednn_facts(); }
  static Norm parse(const plugin::Problem& problem) { return norm_problem(problem); }

  OnednnNormPlan(const Norm& norm, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(norm, options),
        threads_(thread_count(options.threads)),
        plan_(plan_with_threads(norm, candidate, threads_)),
        copies_(plan_copies(uint64_t(norm.traffic()), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_primitive(plan_->timed(), memory_bytes(), options_.workspace, sink);
    sink.integer("outputs", int64_t(problem_.outputs().size()));
  }
  std::vector<std::string> candidates(int64_t) const override {
    const auto first = plan_with_threads(problem_, "", threads_);
    std::vector<std::string> ids = {implementation_name(first->timed())};
    for (const std::string& id : alternative_implementations(first->timed())) ids.push_back(id);
    return ids;
  }
  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands = std::make_unique<NormOperands>(problem_, copies_, parse_inputs(options_.inputs),
                                                   options_.seed, NormMemory());
    auto call = std::make_unique<NormCall>(plan_, *operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  // Sets the number of threads first, because oneDNN's choice depends on it.
  static std::shared_ptr<const NormPrimitives> plan_with_threads(const Norm& norm,
                                                                 const std::string& candidate,
                                                                 int threads) {
    Api::instance().use_threads(threads);
    return std::make_shared<const NormPrimitives>(plan_norm(norm, candidate));
  }
  // Includes the scratchpad of the forward pass, which runs before the gradients.
  uint64_t memory_bytes() const {
    const uint64_t of_forward = plan_->backward ? scratchpad_bytes(plan_->forward.get()) : 0;
    return NormOperands::needed_bytes(problem_, copies_,
                                      scratchpad_bytes(plan_->timed()) + of_forward);
  }

  const int threads_;
  const std::shared_ptr<const NormPrimitives> plan_;
  const CopyPlan copies_;
};

}  // namespace
}  // namespace onednn

Implementation& onednn_norm() { return implementation_of_plan<onednn::OnednnNormPlan>(); }

}  // namespace deepbench::cpu
