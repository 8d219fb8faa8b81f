// Matrix products through oneDNN: prepared calls of matmul and of dnnl_sgemm.
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
  MatmulCall(GemmPlan plan, GemmOperands& operands, int64_t workspace_limit, int threads)
      : PrimitiveCall(plan.primitive.get(), operands.copies(), workspace_limit, threads),
        plan_(std::move(plan)) {
    if (plan_.candidate.packed) pack(operands);
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) wrap(operands, copy);
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    if (plan_.candidate.packed) {
      sink.text("converted", "a");
      sink.real("conversion_ns", conversion_ns_);
    }
    if (plan_.storage.output == Output::kOverwrite) {
      sink.real("beta", 0);
      sink.text("note.beta",
                "beta = 0, because oneDNN adds an existing C in float, which is not exact");
      // With AMX, oneDNN stores the 32-bit sums by way of float, which is exact up to 2^24.
      sink.text("accumulator", "float");
    }
    describe_emulation(plan_.storage.a_type, sink);
  }

 private:
  void pack(GemmOperands& operands) {
    const std::shared_ptr<const Buffer> plain = operands.plain_a();
    conversion_ns_ = reorder(plan_.plain_a.get(), plain->data(), description(dnnl_query_weights_md),
                             operands.a(0));
    operands.replicate_a();
  }

  void wrap(GemmOperands& operands, uint64_t copy) {
    const const_dnnl_memory_desc_t result = description(dnnl_query_dst_md);
    set(copy, DNNL_ARG_SRC, description(dnnl_query_src_md), operands.b(copy));
    set(copy, DNNL_ARG_WEIGHTS, description(dnnl_query_weights_md), operands.a(copy));
    set(copy, DNNL_ARG_DST, result, operands.d(copy));
    if (plan_.storage.output == Output::kSeparate)
      set(copy, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, result, operands.c(copy));
  }

  GemmPlan plan_;
  double conversion_ns_ = 0;
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

  void describe(plugin::Sink& sink) const override { describe_library("dnnl_sgemm", 0, sink); }

 private:
  const GemmOperands& operands_;
};

class OnednnGemm final : public OnednnImplementation {
 public:
  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan(problem, options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const GemmPlan planned = plan(problem, options);
    const CopyPlan copies = plan_copies(planned.storage.touched_bytes(), options);
    return saturating_add(planned.storage.needed_bytes(copies), planned.scratchpad_bytes);
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    Api::instance().use_threads(thread_count(options.threads));
    return gemm_candidates(gemm_problem(problem));
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    const int threads = thread_count(options.threads);
    require_memory_for_operands(memory_needed(problem, options));
    GemmPlan planned = plan(problem, options);
    const CopyPlan copies = plan_copies(planned.storage.touched_bytes(), options);
    auto operands = std::make_unique<GemmOperands>(planned.storage, copies,
                                                   parse_inputs(options.inputs), options.seed);
    std::unique_ptr<LibraryCall> call;
    if (planned.candidate.sgemm)
      call = std::make_unique<SgemmCall>(*operands, threads);
    else
      call =
          std::make_unique<MatmulCall>(std::move(planned), *operands, options.workspace, threads);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies, threads);
  }

 private:
  // Sets the number of threads first, because oneDNN's choice depends on it.
  static GemmPlan plan(const plugin::Problem& problem, const plugin::Options& options) {
    Api::instance().use_threads(thread_count(options.threads));
    return plan_gemm(gemm_problem(problem), options.candidate);
  }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_gemm() {
  static auto* implementation = new onednn::OnednnGemm();
  return *implementation;
}

}  // namespace deepbench::cpu
