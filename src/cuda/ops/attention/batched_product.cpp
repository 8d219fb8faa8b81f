// Describes a strided batch to cuBLASLt.
#include "ops/attention/batched_product.hpp"

#include <limits>

#include "deepbench/plugin.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

lt::MatrixLayout matrices(cudaDataType type, int64_t rows, int64_t columns, int64_t heads) {
  const CublasLt& library = cublaslt();
  cublasLtMatrixLayout_t made = nullptr;
  CUDA_CHECK(
      library.cublasLtMatrixLayoutCreate(&made, type, uint64_t(rows), uint64_t(columns), rows));
  lt::MatrixLayout layout(made);
  const auto count = int32_t(heads);
  const int64_t stride = rows * columns;
  CUDA_CHECK(library.cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                      &count, sizeof count));
  CUDA_CHECK(library.cublasLtMatrixLayoutSetAttribute(
      made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
  return layout;
}

void set_transposition(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t operand,
                       bool is_transposed) {
  const auto value = int32_t(is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
  CUDA_CHECK(cublaslt().cublasLtMatmulDescSetAttribute(operation, operand, &value, sizeof value));
}

lt::MatmulDesc operation(const GemmTypes& types, const ProductShape& shape) {
  cublasLtMatmulDesc_t made = nullptr;
  CUDA_CHECK(cublaslt().cublasLtMatmulDescCreate(&made, types.compute, types.scale));
  lt::MatmulDesc operation(made);
  set_transposition(made, CUBLASLT_MATMUL_DESC_TRANSA, shape.trans_a);
  set_transposition(made, CUBLASLT_MATMUL_DESC_TRANSB, shape.trans_b);
  return operation;
}

lt::Preference preference(uint64_t workspace_limit, uint32_t reductions) {
  const CublasLt& library = cublaslt();
  cublasLtMatmulPreference_t made = nullptr;
  CUDA_CHECK(library.cublasLtMatmulPreferenceCreate(&made));
  lt::Preference preference(made);
  CUDA_CHECK(library.cublasLtMatmulPreferenceSetAttribute(
      made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_limit, sizeof workspace_limit));
  CUDA_CHECK(library.cublasLtMatmulPreferenceSetAttribute(
      made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions));
  return preference;
}

void require_countable(const ProductShape& shape) {
  if (shape.heads > std::numeric_limits<int32_t>::max())
    plugin::unsupported("cuBLASLt does not support a batch of " + std::to_string(shape.heads));
}

}  // namespace

BatchedProduct::BatchedProduct(const ProductShape& shape, const PrecisionInfo& precision,
                               uint64_t workspace_limit, int device) {
  require_countable(shape);
  const GemmTypes types = gemm_types(precision);
  operation_ = operation(types, shape);
  a_ = matrices(types.a, shape.trans_a ? shape.k : shape.m, shape.trans_a ? shape.m : shape.k,
                shape.heads);
  b_ = matrices(types.b, shape.trans_b ? shape.n : shape.k, shape.trans_b ? shape.k : shape.n,
                shape.heads);
  d_ = matrices(shape.float_output ? CUDA_R_32F : types.c, shape.m, shape.n, shape.heads);
  PrecisionInfo sums = precision;
  if (shape.float_output) sums.c = DEEPBENCH_F32;
  choose_algorithm(sums, workspace_limit, device);
}

void BatchedProduct::choose_algorithm(const PrecisionInfo& precision, uint64_t workspace_limit,
                                      int device) {
  const lt::Preference limits = preference(workspace_limit, lt::allowed_reductions(precision));
  lt::Result result{};
  int returned = 0;
  const cublasStatus_t status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
      lt::handle(device), operation_.get(), a_.get(), b_.get(), d_.get(), d_.get(), limits.get(), 1,
      &result, &returned);
  if (status != CUBLAS_STATUS_SUCCESS || returned == 0 || result.state != CUBLAS_STATUS_SUCCESS)
    plugin::unsupported("cuBLASLt " + lt::version() + " has no algorithm for the products of " +
                        "attention in " + std::string(precision.name) +
                        " of these dimensions on this device");
  algo_ = result.algo;
  workspace_bytes_ = result.workspaceSize;
}

void BatchedProduct::enqueue(const void* a, const void* b, void* d, void* workspace,
                             Stream& stream) const {
  constexpr float one = 1, zero = 0;
  CUDA_CHECK(cublaslt().cublasLtMatmul(lt::handle(stream.device()), operation_.get(), &one, a,
                                       a_.get(), b, b_.get(), &zero, d, d_.get(), d, d_.get(),
                                       &algo_, workspace, workspace_bytes_, stream.get()));
}

}  // namespace deepbench::cuda
