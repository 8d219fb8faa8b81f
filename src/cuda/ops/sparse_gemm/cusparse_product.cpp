// Descriptors and calls of cusparseSpMM and cusparseSpMV.
#include "ops/sparse_gemm/cusparse_product.hpp"

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "deepbench/backend/per_device.hpp"
#include "status_check.hpp"

namespace deepbench::cuda::sparse {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

struct DestroyDescriptor {
  void operator()(cusparseSpMatDescr_t matrix) const { cusparse().cusparseDestroySpMat(matrix); }
  void operator()(cusparseDnMatDescr_t matrix) const { cusparse().cusparseDestroyDnMat(matrix); }
  void operator()(cusparseDnVecDescr_t vector) const { cusparse().cusparseDestroyDnVec(vector); }
};
template <class Handle>
using OwnedDescriptor = std::unique_ptr<std::remove_pointer_t<Handle>, DestroyDescriptor>;
using SparseMatrix = OwnedDescriptor<cusparseSpMatDescr_t>;
using DenseMatrix = OwnedDescriptor<cusparseDnMatDescr_t>;
using DenseVector = OwnedDescriptor<cusparseDnVecDescr_t>;

cusparseHandle_t cusparse_handle(const Stream& stream) {
  return plugin::get_or_create_per_device(stream, [&] {
    cusparseHandle_t made = nullptr;
    CUDA_CHECK(cusparse().cusparseCreate(&made));
    CUDA_CHECK(cusparse().cusparseSetStream(made, stream.get()));
    return made;
  });
}

constexpr float kAlphaAndBeta = 1;
constexpr cudaDataType kSums = CUDA_R_32F;

cudaDataType type_of_elements(const SparseGemm& gemm) {
  switch (gemm.precision.a) {
    case DEEPBENCH_F16:
      return CUDA_R_16F;
    case DEEPBENCH_BF16:
      return CUDA_R_16BF;
    default:
      return CUDA_R_32F;
  }
}

cusparseOperation_t operation(bool transposed) {
  return transposed ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
}

SparseMatrix describe_a(const Csr& a, cudaDataType type) {
  cusparseSpMatDescr_t made = nullptr;
  require_accepted(cusparse().cusparseCreateCsr(&made, a.rows, a.columns, a.nonzeros, a.offsets,
                                                a.indices, a.values, CUSPARSE_INDEX_32I,
                                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
                   "cusparseCreateCsr");
  return SparseMatrix(made);
}

DenseMatrix describe_dense(void* data, cudaDataType type, int64_t rows, int64_t columns,
                           bool by_rows) {
  cusparseDnMatDescr_t made = nullptr;
  require_accepted(
      cusparse().cusparseCreateDnMat(&made, rows, columns, by_rows ? columns : rows, data, type,
                                     by_rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL),
      "cusparseCreateDnMat");
  return DenseMatrix(made);
}

DenseVector describe_vector(void* data, cudaDataType type, int64_t size) {
  cusparseDnVecDescr_t made = nullptr;
  require_accepted(cusparse().cusparseCreateDnVec(&made, size, data, type), "cusparseCreateDnVec");
  return DenseVector(made);
}

class MatrixProduct final : public Product {
 public:
  MatrixProduct(const SparseLayout& layout, cusparseSpMMAlg_t algorithm,
                const ProductOperands& memory, cusparseHandle_t handle)
      : library_(cusparse()),
        handle_(handle),
        algorithm_(algorithm),
        operation_a_(operation(layout.gemm.trans_a)),
        operation_b_(operation(layout.gemm.trans_b)) {
    const SparseGemm& gemm = layout.gemm;
    const cudaDataType type = type_of_elements(gemm);
    a_ = describe_a(memory.a, type);
    b_ = describe_dense(memory.b, type, layout.rows_b(), layout.columns_b(), layout.b_by_rows());
    c_ = describe_dense(memory.c, type, gemm.m, gemm.n, layout.c_by_rows());
  }

  uint64_t workspace_bytes() const override {
    size_t bytes = 0;
    require_accepted(library_.cusparseSpMM_bufferSize(
                         handle_, operation_a_, operation_b_, &kAlphaAndBeta, a_.get(), b_.get(),
                         &kAlphaAndBeta, c_.get(), kSums, algorithm_, &bytes),
                     "cusparseSpMM_bufferSize");
    return bytes;
  }

  void preprocess(void* workspace) const override {
    if (!library_.cusparseSpMM_preprocess)
      plugin::unsupported("this version of cuSPARSE does not have cusparseSpMM_preprocess");
    require_accepted(library_.cusparseSpMM_preprocess(
                         handle_, operation_a_, operation_b_, &kAlphaAndBeta, a_.get(), b_.get(),
                         &kAlphaAndBeta, c_.get(), kSums, algorithm_, workspace),
                     "cusparseSpMM_preprocess");
  }

  cusparseStatus_t multiply(void* workspace) const override {
    return library_.cusparseSpMM(handle_, operation_a_, operation_b_, &kAlphaAndBeta, a_.get(),
                                 b_.get(), &kAlphaAndBeta, c_.get(), kSums, algorithm_, workspace);
  }

 private:
  const Cusparse& library_;
  cusparseHandle_t handle_;
  cusparseSpMMAlg_t algorithm_;
  cusparseOperation_t operation_a_, operation_b_;
  SparseMatrix a_;
  DenseMatrix b_, c_;
};

class VectorProducts final : public Product {
 public:
  VectorProducts(const SparseGemm& gemm, cusparseSpMVAlg_t algorithm, const ProductOperands& memory,
                 cusparseHandle_t handle)
      : library_(cusparse()),
        handle_(handle),
        algorithm_(algorithm),
        operation_(operation(gemm.trans_a)) {
    const cudaDataType type = type_of_elements(gemm);
    const int64_t element = size_of(gemm.precision.a);
    a_ = describe_a(memory.a, type);
    for (int64_t column = 0; column < gemm.n; ++column) {
      auto* const x = static_cast<std::byte*>(memory.b) + column * gemm.k * element;
      auto* const y = static_cast<std::byte*>(memory.c) + column * gemm.m * element;
      columns_.push_back({describe_vector(x, type, gemm.k), describe_vector(y, type, gemm.m)});
    }
  }

  uint64_t workspace_bytes() const override {
    size_t bytes = 0;
    const auto& [x, y] = columns_.front();
    require_accepted(
        library_.cusparseSpMV_bufferSize(handle_, operation_, &kAlphaAndBeta, a_.get(), x.get(),
                                         &kAlphaAndBeta, y.get(), kSums, algorithm_, &bytes),
        "cusparseSpMV_bufferSize");
    return bytes;
  }

  void preprocess(void* workspace) const override {
    if (!library_.cusparseSpMV_preprocess)
      plugin::unsupported("this version of cuSPARSE does not have cusparseSpMV_preprocess");
    const auto& [x, y] = columns_.front();
    require_accepted(
        library_.cusparseSpMV_preprocess(handle_, operation_, &kAlphaAndBeta, a_.get(), x.get(),
                                         &kAlphaAndBeta, y.get(), kSums, algorithm_, workspace),
        "cusparseSpMV_preprocess");
  }

  cusparseStatus_t multiply(void* workspace) const override {
    for (const auto& [x, y] : columns_) {
      const cusparseStatus_t status =
          library_.cusparseSpMV(handle_, operation_, &kAlphaAndBeta, a_.get(), x.get(),
                                &kAlphaAndBeta, y.get(), kSums, algorithm_, workspace);
      if (status != CUSPARSE_STATUS_SUCCESS) return status;
    }
    return CUSPARSE_STATUS_SUCCESS;
  }

 private:
  struct Column {
    DenseVector x, y;
  };
  const Cusparse& library_;
  cusparseHandle_t handle_;
  cusparseSpMVAlg_t algorithm_;
  cusparseOperation_t operation_;
  SparseMatrix a_;
  std::vector<Column> columns_;
};

bool is_refusal(cusparseStatus_t status) {
  return status == CUSPARSE_STATUS_NOT_SUPPORTED || status == CUSPARSE_STATUS_ARCH_MISMATCH ||
         status == CUSPARSE_STATUS_INVALID_VALUE;
}

}  // namespace

void require_accepted(cusparseStatus_t status, const char* function) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  if (is_refusal(status))
    plugin::unsupported(std::string(function) + " does not support these operands: " +
                        cusparse().cusparseGetErrorString(status) + " (" +
                        cusparse().cusparseGetErrorName(status) + ")");
  check(status, {function, __FILE__, __LINE__});
}

std::unique_ptr<Product> make_product(const SparseGemm& gemm, const Candidate& candidate,
                                      const ProductOperands& memory, const Stream& stream) {
  const cusparseHandle_t handle = cusparse_handle(stream);
  if (candidate.call == Call::kSpmv)
    return std::make_unique<VectorProducts>(gemm, candidate.spmv, memory, handle);
  return std::make_unique<MatrixProduct>(candidate.layout(gemm), candidate.spmm, memory, handle);
}

}  // namespace deepbench::cuda::sparse
