// Matrix products through oneDNN: prepared calls of matmul and of dnnl_sgemm.
#include "deepbench/backend/conversion_facts.hpp"
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "operand_cache.hpp"
#include "ops/gemm/onednn_plan.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

class MatmulCall final : public PrimitiveCall {
 public:
  MatmulCall(std::shared_ptr<const GemmPlan> plan, GemmOperands& operands, int threads)
      : PrimitiveCall(plan->primitive.get(), operands.copies(), threads),
        plan_(std::move(plan)),
        operands_(operands) {
    if (plan_->candidate.packed) conversion_times_ = pack();
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) set_arguments(operands, copy);
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    if (plan_->candidate.packed) plugin::describe_conversion("a", conversion_times_, sink);
    if (operands_.gemm().is_int8()) {
      sink.real("beta", 0);
      sink.text("note.beta",
                "beta = 0, because oneDNN adds an existing C in float, which is not exact");
      // With AMX, oneDNN converts the 32-bit sums through float, which is exact up to 2^24.
      sink.text("accumulator", "float");
    }
    describe_emulation(plan_->storage.a_type, sink);
  }

  void operands_refilled() override {
    if (plan_->candidate.packed) pack();
  }

 private:
  // Returns the times of the conversion.
  std::vector<double> pack() {
    const std::shared_ptr<const Buffer> plain = operands_.plain_a();
    const std::vector<double> times = reorder(plan_->plain_a.get(), plain->data(),
                                              description(dnnl_query_weights_md), operands_.a(0));
    operands_.replicate_a();
    return times;
  }

  void set_arguments(GemmOperands& operands, uint64_t copy) {
    const const_dnnl_memory_desc_t result = description(dnnl_query_dst_md);
    set_argument(copy, DNNL_ARG_SRC, description(dnnl_query_src_md), operands.b(copy));
    set_argument(copy, DNNL_ARG_WEIGHTS, description(dnnl_query_weights_md), operands.a(copy));
    set_argument(copy, DNNL_ARG_DST, result, operands.d(copy));
    if (plan_->storage.output == Output::kSeparate)
      set_argument(copy, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, result,
                   operands.c(copy));
    if (operands.gemm().has_epilogue())
      set_argument(copy, DNNL_ARG_BIAS, description(dnnl_query_weights_md, 1), operands.bias());
  }

  const std::shared_ptr<const GemmPlan> plan_;
  GemmOperands& operands_;
  std::vector<double> conversion_times_;
};

// oneDNN's BLAS-like function. Like the rest of oneDNN it is row-major.
class SgemmCall final : public OnednnCall {
 public:
  SgemmCall(const GemmOperands& operands, int threads) : OnednnCall(threads), operands_(operands) {}

  int run(uint64_t copy) override {
    const Gemm& g = operands_.gemm();
    return Api::instance().sgemm_f(g.trans_b ? 'T' : 'N', g.trans_a ? 'T' : 'N', g.n, g.m, g.k,
                                   1.0f, static_cast<const float*>(operands_.b(copy)), g.rows_b(),
                                   static_cast<const float*>(operands_.a(copy)), g.rows_a(), 1.0f,
                                   static_cast<float*>(operands_.c(copy)), g.m);
  }

 private:
  const GemmOperands& operands_;
};

class OnednnGemmPlan final : public plugin::TypedPlan<OnednnGemmPlan, Gemm> {
 public:
  static LibraryFacts library() { return onednn_facts(); }
  static Gemm parse(const plugin::Problem& problem) { return gemm_problem(problem); }

  OnednnGemmPlan(const Gemm& gemm, const plugin::Options& options, const std::string& candidate,
                 std::shared_ptr<RowPlans<GemmPlan>> row = std::make_shared<RowPlans<GemmPlan>>())
      : TypedPlan(gemm, options),
        threads_(thread_count(options.threads)),
        row_(std::move(row)),
        plan_(plan_with_threads(gemm, candidate, threads_, *row_)),
        copies_(plan_copies(plan_->storage.touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    if (plan_->candidate.sgemm)
      describe_plan(library_name(), "dnnl_sgemm", memory_bytes(), 0, sink);
    else
      describe_primitive(plan_->primitive.get(), memory_bytes(), options_.workspace, sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    Api::instance().use_threads(threads_);
    return gemm_candidates(problem_, *row_);
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    return std::make_unique<OnednnGemmPlan>(problem_, options_, id, row_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(memory_bytes());
    Api::instance().use_threads(threads_);
    auto operands = std::make_unique<GemmOperands>(plan_->storage, copies_,
                                                   parse_inputs(options_.inputs), options_.seed);
    std::unique_ptr<LibraryCall> call;
    if (plan_->candidate.sgemm)
      call = std::make_unique<SgemmCall>(*operands, threads_);
    else
      call = std::make_unique<MatmulCall>(plan_, *operands, threads_);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_,
                                            threads_);
  }

 private:
  // Sets the number of threads first, because oneDNN's choice depends on it.
  static std::shared_ptr<const GemmPlan> plan_with_threads(const Gemm& gemm,
                                                           const std::string& candidate,
                                                           int threads, RowPlans<GemmPlan>& row) {
    Api::instance().use_threads(threads);
    return plan_gemm(gemm, candidate, row);
  }

  uint64_t memory_bytes() const {
    return saturating_add(plan_->storage.needed_bytes(copies_), plan_->scratchpad_bytes);
  }

  const int threads_;
  const std::shared_ptr<RowPlans<GemmPlan>> row_;
  const std::shared_ptr<const GemmPlan> plan_;
  const CopyPlan copies_;
};

}  // namespace
}  // namespace onednn

Implementation& onednn_gemm() { return implementation_of_plan<onednn::OnednnGemmPlan>(); }

}  // namespace deepbench::cpu
