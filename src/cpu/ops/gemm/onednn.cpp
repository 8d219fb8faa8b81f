// Matrix products through oneDNN: prepared calls of matmul and sgemm.
#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "topology.hpp"

#if defined(DEEPBENCH_HAS_ONEDNN)

#include <algorithm>
#include <array>

#include "operand_store.hpp"
#include "ops/gemm/kernel.hpp"
#include "ops/gemm/onednn_api.hpp"
#include "ops/gemm/onednn_plan.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

// What all of oneDNN's calls have in common.
class Call : public GemmCall {
 public:
  explicit Call(int threads) : threads_(threads) {}
  void enter() override { Api::instance().use_threads(threads_); }
  std::string error_text(int status) const override {
    return std::string("oneDNN: ") + status_text(static_cast<dnnl_status_t>(status));
  }

 protected:
  void describe_library(const std::string& algorithm, uint64_t workspace,
                        plugin::Sink& sink) const {
    sink.text("library", "onednn " + Api::instance().version());
    sink.text("algorithm", algorithm);
    sink.integer("workspace_bytes", int64_t(workspace));
  }

 private:
  int threads_;
};

class MatmulCall final : public Call {
 public:
  MatmulCall(Plan plan, GemmOperands& operands, int64_t workspace_limit, int threads)
      : Call(threads),
        plan_(std::move(plan)),
        scratchpad_(plan_.scratchpad_bytes),
        workspace_limit_(workspace_limit) {
    const Clock::time_point begin = Clock::now();
    primitive_ = primitive_of(plan_.primitive.get());
    planning_ns_ = elapsed_ns(begin, Clock::now());
    if (plan_.candidate.packed) pack(operands);
    wrap(operands);
  }

  int run(uint64_t copy) override {
    return execute_(primitive_.get(), stream_, argument_count_, arguments_[copy].data());
  }

  void describe(plugin::Sink& sink) const override {
    describe_library(plan_.algorithm, plan_.scratchpad_bytes, sink);
    sink.real("planning_ns", planning_ns_);
    if (plan_.candidate.packed) {
      sink.text("converted", "a");
      sink.real("conversion_ns", conversion_ns_);
    }
    if (plan_.storage.output == Output::kOverwrite) {
      sink.real("beta", 0);
      sink.text("note.beta", "oneDNN adds an existing C in float, which is not exact: beta = 0");
      // Seen with AMX: the 32-bit sums are stored by way of float, exact up to 2^24.
      sink.text("accumulator", "float");
    }
    if (int64_t(plan_.scratchpad_bytes) > workspace_limit_)
      sink.text("note.workspace", "oneDNN's scratchpad cannot be limited");
    if (is_emulated())
      sink.text("note.emulated",
                "this processor has no bfloat16 instructions: oneDNN computes in float");
  }

 private:
  // C, A, B, the scratchpad, and a C of its own.
  static constexpr size_t kMostArguments = 5;
  static constexpr int kReorders = 5;

  bool is_emulated() const {
    constexpr unsigned kNative =
        unsigned(dnnl_cpu_isa_avx512_core_bf16) & ~unsigned(dnnl_cpu_isa_avx512_core_vnni);
    constexpr unsigned kNativeOnAvx2 =
        unsigned(dnnl_cpu_isa_avx2_vnni_2) & ~unsigned(dnnl_cpu_isa_avx2_vnni);
    const auto isa = unsigned(Api::instance().get_effective_cpu_isa_f());
    return plan_.storage.a_type == DEEPBENCH_BF16 && (isa & (kNative | kNativeOnAvx2)) == 0;
  }

  // The time of a conversion is the median of several: the first also touches fresh pages.
  void pack(GemmOperands& operands) {
    const Api& api = Api::instance();
    const const_dnnl_memory_desc_t packed = plan_.description(dnnl_query_weights_md);
    dnnl_primitive_desc_t made = nullptr;
    api.check(api.reorder_primitive_desc_create_f(&made, plan_.plain_a.get(), api.engine(), packed,
                                                  api.engine(), nullptr),
              "planning the packing of A");
    const PrimitiveDesc description(made);
    const Primitive reorder = primitive_of(made);
    const std::shared_ptr<const Buffer> plain = operands.plain_a();
    const MemoryObject from = memory_at(plan_.plain_a.get(), plain->data());
    const MemoryObject to = memory_at(packed, operands.a(0));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}};
    std::array<double, kReorders> times{};
    for (double& time : times) {
      const Clock::time_point begin = Clock::now();
      api.check(api.primitive_execute_f(reorder.get(), api.stream(), 2, arguments), "packing A");
      api.check(api.stream_wait_f(api.stream()), "packing A");
      time = elapsed_ns(begin, Clock::now());
    }
    std::nth_element(times.begin(), times.begin() + kReorders / 2, times.end());
    conversion_ns_ = times[kReorders / 2];
    operands.replicate_a();
  }

  void wrap(GemmOperands& operands) {
    const const_dnnl_memory_desc_t result = plan_.description(dnnl_query_dst_md);
    const auto keep = [this](const_dnnl_memory_desc_t description, void* data) {
      memories_.push_back(memory_at(description, data));
      return memories_.back().get();
    };
    const dnnl_memory_t scratchpad =
        keep(plan_.description(dnnl_query_scratchpad_md), scratchpad_.data());
    const bool separate = plan_.storage.output == Output::kSeparate;
    argument_count_ = separate ? 5 : 4;
    arguments_.resize(operands.copies());
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) {
      arguments_[copy][0] = {DNNL_ARG_SRC,
                             keep(plan_.description(dnnl_query_src_md), operands.b(copy))};
      arguments_[copy][1] = {DNNL_ARG_WEIGHTS,
                             keep(plan_.description(dnnl_query_weights_md), operands.a(copy))};
      arguments_[copy][2] = {DNNL_ARG_DST, keep(result, operands.d(copy))};
      arguments_[copy][3] = {DNNL_ARG_SCRATCHPAD, scratchpad};
      if (separate)
        arguments_[copy][4] = {DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1,
                               keep(result, operands.c(copy))};
    }
  }

  Plan plan_;
  Buffer scratchpad_;
  Primitive primitive_;
  std::vector<MemoryObject> memories_;
  std::vector<std::array<dnnl_exec_arg_t, kMostArguments>> arguments_;
  int argument_count_ = 0;
  decltype(&dnnl_primitive_execute) execute_ = Api::instance().primitive_execute_f;
  dnnl_stream_t stream_ = Api::instance().stream();
  int64_t workspace_limit_;
  double planning_ns_ = 0, conversion_ns_ = 0;
};

// oneDNN's BLAS-like function, row-major like the rest of it.
class SgemmCall final : public Call {
 public:
  SgemmCall(const GemmOperands& operands, int threads) : Call(threads), operands_(operands) {}

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

class OnednnGemm final : public Implementation {
 public:
  LibraryFacts library() override {
    const Library& library = Api::instance().library();
    if (!library.loaded()) return {"", "", library.reason()};
    return {Api::instance().version(), library.path(), ""};
  }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan(problem, options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const Plan planned = plan(problem, options);
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
    Plan planned = plan(problem, options);
    const CopyPlan copies = plan_copies(planned.storage.touched_bytes(), options);
    auto operands = std::make_unique<GemmOperands>(planned.storage, copies,
                                                   inputs_named(options.inputs), options.seed);
    std::unique_ptr<GemmCall> call;
    if (planned.candidate.sgemm)
      call = std::make_unique<SgemmCall>(*operands, threads);
    else
      call =
          std::make_unique<MatmulCall>(std::move(planned), *operands, options.workspace, threads);
    return std::make_unique<GemmKernel>(std::move(operands), std::move(call), copies, threads);
  }

 private:
  // oneDNN chooses by the number of threads, so that it is set before it is asked.
  static Plan plan(const plugin::Problem& problem, const plugin::Options& options) {
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

#else

namespace deepbench::cpu {
namespace {

// A build without oneDNN's header has nothing to call it by.
class AbsentOnednn final : public Implementation {
 public:
  LibraryFacts library() override { return {"", "", kReason}; }
  void supports(const plugin::Problem&, const plugin::Options&) override { refuse(); }
  uint64_t memory_needed(const plugin::Problem&, const plugin::Options&) override { refuse(); }
  std::vector<std::string> candidates(const plugin::Problem&, const plugin::Options&) override {
    refuse();
  }
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem&, const plugin::Options&) override {
    refuse();
  }

 private:
  static constexpr const char* kReason =
      "deepbench was built without oneDNN's header; install it where the wheel "
      "onednn-devel-cpu-gomp exists (Linux x86-64)";
  [[noreturn]] static void refuse() { plugin::unsupported(kReason); }
};

}  // namespace

Implementation& onednn_gemm() {
  static auto* implementation = new AbsentOnednn();
  return *implementation;
}

}  // namespace deepbench::cpu

#endif
