// NVIDIA's real libraries without a device: every function of every table exists, and functions
// that need no device work. DEEPBENCH_TEST_CUDA_LIBRARIES names the folders of the libraries,
// separated by colons.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "loader.hpp"

namespace deepbench::cuda_test {
namespace {

using namespace cuda;

Loader* loader() {
  static Loader* instance = []() -> Loader* {
    const char* folders = std::getenv("DEEPBENCH_TEST_CUDA_LIBRARIES");
    if (!folders || !*folders) return nullptr;
    std::vector<Location> locations;
    std::istringstream rest(folders);
    for (std::string folder; std::getline(rest, folder, ':');)
      locations.push_back({folder, "the test"});
    return new Loader(locations, driver_locations());
  }();
  if (!instance) MESSAGE("nothing tested: DEEPBENCH_TEST_CUDA_LIBRARIES is not set");
  return instance;
}

// Returns the table of a library, which must be usable.
template <class Table>
const Table& table() {
  const LoadedLibrary<Table>& loaded = loader()->get<Table>();
  INFO(loaded.report.reason);
  REQUIRE(loaded.report.usable());
  return loaded.table;
}

template <class Table>
void check_functions() {
  const LoadedLibrary<Table>& loaded = loader()->get<Table>();
  INFO(loaded.report.name << ": " << loaded.report.reason);
  CHECK(loaded.report.usable());
  CHECK(loaded.report.version != "");
  Table table = loaded.table;
  table.for_each([&](const char* name, auto& function, nvidia::Need need) {
    INFO(std::string(name));
    if (need == nvidia::Need::kRequired)
      CHECK(bool(function));
    else
      WARN(bool(function));
  });
}

TEST_CASE("the real libraries have every declared function") {
  if (!loader()) return;
  check_functions<nvidia::Cudart>();
  check_functions<nvidia::Nvrtc>();
  check_functions<nvidia::NvJitLink>();
  check_functions<nvidia::CublasLt>();
  check_functions<nvidia::Cublas>();
  check_functions<nvidia::Cudnn>();
  check_functions<nvidia::Cusparse>();
  check_functions<nvidia::Nccl>();
  CHECK(loader()->mixed_major_warnings().empty());
  MESSAGE("not compared: libcuda.so.1 and libnvidia-ml.so.1, which belong to the driver");
}

TEST_CASE("the real libraries report the CUDA version they were built for") {
  if (!loader()) return;
  const int major = loader()->get<nvidia::Cudart>().identity.cuda_major;
  CHECK(major >= 12);
  CHECK(loader()->get<nvidia::Nvrtc>().identity.cuda_major == major);
  CHECK(loader()->get<nvidia::NvJitLink>().identity.cuda_major == major);
  CHECK(loader()->get<nvidia::CublasLt>().identity.cuda_major == major);
  CHECK(loader()->get<nvidia::Cublas>().identity.cuda_major == major);
  CHECK(loader()->get<nvidia::Cudnn>().identity.cuda_major == major);
  CHECK(loader()->get<nvidia::Cusparse>().identity.cuda_major == major);
  CHECK(loader()->get<nvidia::Nccl>().identity.cuda_major == major);
}

TEST_CASE("most of cuDNN's descriptors of recurrent layers need no device") {
  if (!loader()) return;
  using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation
  const Cudnn& cudnn = table<Cudnn>();
  cudnnRNNDataDescriptor_t sequence = nullptr;
  REQUIRE(cudnn.cudnnCreateRNNDataDescriptor(&sequence) == CUDNN_STATUS_SUCCESS);
  const int lengths[] = {5, 5};
  const auto set = [&](int steps, int width) {
    return cudnn.cudnnSetRNNDataDescriptor(sequence, CUDNN_DATA_HALF,
                                           CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, steps, 2, width,
                                           lengths, nullptr);
  };
  CHECK(set(5, 64) == CUDNN_STATUS_SUCCESS);
  CHECK(set(5, 0) != CUDNN_STATUS_SUCCESS);
  CHECK(cudnn.cudnnDestroyRNNDataDescriptor(sequence) == CUDNN_STATUS_SUCCESS);

  cudnnTensorDescriptor_t state = nullptr;
  REQUIRE(cudnn.cudnnCreateTensorDescriptor(&state) == CUDNN_STATUS_SUCCESS);
  const int sizes[] = {1, 2, 64}, strides[] = {128, 64, 1};
  CHECK(cudnn.cudnnSetTensorNdDescriptor(state, CUDNN_DATA_BFLOAT16, 3, sizes, strides) ==
        CUDNN_STATUS_SUCCESS);
  CHECK(cudnn.cudnnDestroyTensorDescriptor(state) == CUDNN_STATUS_SUCCESS);

  cudnnRNNDescriptor_t layer = nullptr;
  REQUIRE(cudnn.cudnnCreateRNNDescriptor(&layer) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnn.cudnnDestroyRNNDescriptor(layer) == CUDNN_STATUS_SUCCESS);
  cudnnDropoutDescriptor_t dropout = nullptr;
  REQUIRE(cudnn.cudnnCreateDropoutDescriptor(&dropout) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnn.cudnnDestroyDropoutDescriptor(dropout) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE("cuBLASLt's descriptors need no device") {
  if (!loader()) return;
  const nvidia::CublasLt& cublaslt = table<nvidia::CublasLt>();
  nvidia::cublasLtMatrixLayout_t layout = nullptr;
  REQUIRE(cublaslt.cublasLtMatrixLayoutCreate(&layout, nvidia::CUDA_R_16F, 64, 32, 64) ==
          nvidia::CUBLAS_STATUS_SUCCESS);
  CHECK(cublaslt.cublasLtMatrixLayoutDestroy(layout) == nvidia::CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("cuSPARSE's descriptors need no device") {
  if (!loader()) return;
  const nvidia::Cusparse& cusparse = table<nvidia::Cusparse>();
  int32_t offsets[3] = {0, 1, 1}, indices[1] = {1};
  float values[1] = {1}, dense[6] = {};
  nvidia::cusparseSpMatDescr_t sparse = nullptr;
  REQUIRE(cusparse.cusparseCreateCsr(&sparse, 2, 3, 1, offsets, indices, values,
                                     nvidia::CUSPARSE_INDEX_32I, nvidia::CUSPARSE_INDEX_32I,
                                     nvidia::CUSPARSE_INDEX_BASE_ZERO,
                                     nvidia::CUDA_R_32F) == nvidia::CUSPARSE_STATUS_SUCCESS);
  nvidia::cusparseDnMatDescr_t matrix = nullptr;
  REQUIRE(cusparse.cusparseCreateDnMat(&matrix, 3, 2, 2, dense, nvidia::CUDA_R_32F,
                                       nvidia::CUSPARSE_ORDER_ROW) ==
          nvidia::CUSPARSE_STATUS_SUCCESS);
  nvidia::cusparseDnVecDescr_t vector = nullptr;
  REQUIRE(cusparse.cusparseCreateDnVec(&vector, 3, dense, nvidia::CUDA_R_16F) ==
          nvidia::CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparse.cusparseDestroyDnVec(vector) == nvidia::CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparse.cusparseDestroyDnMat(matrix) == nvidia::CUSPARSE_STATUS_SUCCESS);
  CHECK(cusparse.cusparseDestroySpMat(sparse) == nvidia::CUSPARSE_STATUS_SUCCESS);
}

TEST_CASE("NCCL creates an id without a device") {
  if (!loader()) return;
  const nvidia::Nccl& nccl = table<nvidia::Nccl>();
  nvidia::ncclUniqueId id{};
  REQUIRE(nccl.ncclGetUniqueId(&id) == nvidia::ncclSuccess);
  CHECK(std::any_of(std::begin(id.internal), std::end(id.internal), [](char c) { return c != 0; }));
}

}  // namespace
}  // namespace deepbench::cuda_test
