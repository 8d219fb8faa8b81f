// Sparse products through oneDNN's matmul with a source in CSR. This experimental feature is not
// part of every build of oneDNN. It requires row-major operands, does not support transposition and
// does not add C.
#include <string>

#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "onednn/onednn_implementation.hpp"
#include "onednn/primitive_call.hpp"
#include "ops/sparse_gemm/sparse_plan.hpp"
#include "routes.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace onednn {
namespace {

constexpr const char* kMatmul = "matmul";  // The only candidate.

using CreateCsr = dnnl_status_t (*)(dnnl_memory_desc_t*, int, const dnnl_dims_t, dnnl_data_type_t,
                                    dnnl_dim_t, dnnl_data_type_t, dnnl_data_type_t);
using CreateMemory = dnnl_status_t (*)(dnnl_memory_t*, const_dnnl_memory_desc_t, dnnl_engine_t, int,
                                       void**);

// oneDNN's header declares these functions only if oneDNN was built with them, so this file
// declares them too.
struct SparseFunctions {
  CreateCsr create_csr = nullptr;
  CreateMemory create_memory = nullptr;

  static const SparseFunctions& instance() {
    static const SparseFunctions functions = [] {
      SparseFunctions found;
      const SharedLibrary& library = Api::instance().library();
      library.bind(found.create_csr, "dnnl_memory_desc_create_with_csr_encoding");
      library.bind(found.create_memory, "dnnl_memory_create_v2");
      return found;
    }();
    if (!functions.create_csr || !functions.create_memory)
      plugin::unsupported("oneDNN " + Api::instance().version() +
                          " was built without the experimental sparse matrices");
    return functions;
  }
};

MemoryDesc sparse_matrix(const SparseGemm& gemm, int64_t nnz) {
  const dnnl_dims_t dimensions = {gemm.m, gemm.k};
  dnnl_memory_desc_t matrix = nullptr;
  Api::instance().check(SparseFunctions::instance().create_csr(&matrix, 2, dimensions, dnnl_f32,
                                                               nnz, dnnl_s32, dnnl_s32),
                        "describing a sparse matrix");
  return MemoryDesc(matrix);
}

// Plans for the expected number of non-zeros. The call reads the actual number from A's offsets.
PrimitiveDesc plan_sparse(const SparseGemm& gemm) {
  const Api& api = Api::instance();
  const MemoryDesc a = sparse_matrix(gemm, int64_t(gemm.nnz()));
  const MemoryDesc b = plain_matrix(gemm.k, gemm.n, gemm.n, 1, dnnl_f32);
  const MemoryDesc c = plain_matrix(gemm.m, gemm.n, gemm.n, 1, dnnl_f32);
  dnnl_primitive_desc_t made = nullptr;
  const dnnl_status_t status = api.matmul_primitive_desc_create_f(
      &made, api.engine(), a.get(), b.get(), nullptr, c.get(), nullptr);
  require_primitive(status, "sparse product", gemm.precision);
  PrimitiveDesc plan(made);
  reject_too_slow(implementation_name(made), gemm.flops());
  return plan;
}

class SparseMatmulCall final : public PrimitiveCall {
 public:
  SparseMatmulCall(const_dnnl_primitive_desc_t plan, SparseOperands& operands, int threads)
      : PrimitiveCall(plan, operands.copies(), threads) {
    const MemoryDesc a = sparse_matrix(operands.gemm(), operands.a(0).nnz());
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) {
      set_sparse(copy, a.get(), operands.a(copy));
      set_argument(copy, DNNL_ARG_WEIGHTS, description(dnnl_query_weights_md),
                   const_cast<float*>(operands.b(copy)));
      set_argument(copy, DNNL_ARG_DST, description(dnnl_query_dst_md), operands.c(copy));
    }
  }

  void describe(plugin::Sink& sink) const override {
    PrimitiveCall::describe(sink);
    sink.real("beta", 0);
    sink.text("note.beta", "beta = 0, because oneDNN's sparse product does not add C");
  }

 private:
  void set_sparse(uint64_t copy, const_dnnl_memory_desc_t description, const Csr& a) {
    void* handles[] = {const_cast<float*>(a.values), const_cast<int32_t*>(a.indices),
                       const_cast<int32_t*>(a.offsets)};
    dnnl_memory_t made = nullptr;
    const Api& api = Api::instance();
    api.check(
        SparseFunctions::instance().create_memory(&made, description, api.engine(), 3, handles),
        "wrapping a sparse matrix");
    set_argument(copy, DNNL_ARG_SRC, MemoryObject(made));
  }
};

struct OnednnSparseGemm {
  static constexpr SparseOutput kOutput = SparseOutput::kOverwrite;

  struct CandidateSettings {
    CandidateSettings(const SparseGemm& gemm, const std::string&, int threads) {
      Api::instance().use_threads(threads);
      plan = plan_sparse(gemm);
    }
    uint64_t workspace_bytes() const { return scratchpad_bytes(plan.get()); }
    uint64_t library_bytes() const { return workspace_bytes(); }
    std::unique_ptr<LibraryCall> make_call(SparseOperands& operands, int threads) const {
      Api::instance().use_threads(threads);
      return std::make_unique<SparseMatmulCall>(plan.get(), operands, threads);
    }
    PrimitiveDesc plan;
  };

  static LibraryFacts library() { return onednn_facts(); }
  static std::string name() { return library_name(); }
  static std::string algorithm(const CandidateSettings& choice, const std::string&) {
    return implementation_name(choice.plan.get());
  }
  static int threads(const SparseGemm&, int requested) { return requested; }
  static std::vector<std::string> candidates(const SparseGemm& gemm) {
    require_float(gemm, "oneDNN's sparse product");
    if (gemm.trans_a || gemm.trans_b)
      plugin::unsupported("oneDNN's sparse product does not support transposed operands");
    if (!gemm.row_major && gemm.n > 1)
      plugin::unsupported("oneDNN's sparse product requires row-major B and C; use order=row");
    return {kMatmul};
  }
};

}  // namespace
}  // namespace onednn

Implementation& onednn_sparse_gemm() {
  return implementation_of_plan<SparsePlan<onednn::OnednnSparseGemm>>();
}

}  // namespace deepbench::cpu
