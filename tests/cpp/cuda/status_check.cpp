// The meaning of library statuses for rows, and the format of the messages.
#include "status_check.hpp"

#include <doctest/doctest.h>

#include <string>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda_test {
namespace {

using namespace nvidia;

template <class Status>
plugin::Error error_of(Status status) {
  try {
    cuda::check(status,
                {"cudart().cudaMalloc(&data, bytes)", "/somewhere/src/cuda/buffer.cpp", 23});
  } catch (const plugin::Error& error) {
    return error;
  }
  return {DEEPBENCH_OK, ""};
}

template <class Status>
deepbench_status thrown_status(Status status) {
  return error_of(status).status();
}

TEST_CASE("success throws nothing") {
  CHECK(thrown_status(cudaSuccess) == DEEPBENCH_OK);
  CHECK(thrown_status(CUDA_SUCCESS) == DEEPBENCH_OK);
  CHECK(thrown_status(NVRTC_SUCCESS) == DEEPBENCH_OK);
  CHECK(thrown_status(CUBLAS_STATUS_SUCCESS) == DEEPBENCH_OK);
  CHECK(thrown_status(CUDNN_STATUS_SUCCESS) == DEEPBENCH_OK);
  CHECK(thrown_status(CUSPARSE_STATUS_SUCCESS) == DEEPBENCH_OK);
  CHECK(thrown_status(NVML_SUCCESS) == DEEPBENCH_OK);
}

TEST_CASE("sticky errors mean device_lost") {
  for (const cudaError_t status :
       {cudaErrorIllegalAddress, cudaErrorLaunchTimeout, cudaErrorContextIsDestroyed,
        cudaErrorAssert, cudaErrorHardwareStackError, cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress, cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,
        cudaErrorLaunchFailure, cudaErrorECCUncorrectable, cudaErrorNvlinkUncorrectable,
        cudaErrorDevicesUnavailable, cudaErrorUnknown}) {
    INFO(int(status));
    CHECK(cuda::is_sticky(status));
    CHECK(thrown_status(status) == DEEPBENCH_DEVICE_LOST);
    CHECK(thrown_status(static_cast<CUresult>(status)) == DEEPBENCH_DEVICE_LOST);
  }
  CHECK(thrown_status(NVML_ERROR_GPU_IS_LOST) == DEEPBENCH_DEVICE_LOST);
  for (const cudaError_t status : {cudaSuccess, cudaErrorInvalidValue, cudaErrorMemoryAllocation,
                                   cudaErrorNotReady, cudaErrorStreamCaptureUnsupported})
    CHECK_FALSE(cuda::is_sticky(status));
}

TEST_CASE("lack of memory and unsupported operations are not failures") {
  CHECK(thrown_status(cudaErrorMemoryAllocation) == DEEPBENCH_OUT_OF_MEMORY);
  CHECK(thrown_status(CUDA_ERROR_OUT_OF_MEMORY) == DEEPBENCH_OUT_OF_MEMORY);
  CHECK(thrown_status(CUBLAS_STATUS_ALLOC_FAILED) == DEEPBENCH_OUT_OF_MEMORY);
  CHECK(thrown_status(NVRTC_ERROR_OUT_OF_MEMORY) == DEEPBENCH_OUT_OF_MEMORY);
  CHECK(thrown_status(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) ==
        DEEPBENCH_OUT_OF_MEMORY);
  CHECK(thrown_status(CUSPARSE_STATUS_INSUFFICIENT_RESOURCES) == DEEPBENCH_OUT_OF_MEMORY);
  CHECK(thrown_status(CUBLAS_STATUS_NOT_SUPPORTED) == DEEPBENCH_UNSUPPORTED);
  CHECK(thrown_status(CUDNN_STATUS_NOT_SUPPORTED) == DEEPBENCH_UNSUPPORTED);
  CHECK(thrown_status(static_cast<cudnnStatus_t>(3007)) == DEEPBENCH_UNSUPPORTED);
  CHECK(thrown_status(CUSPARSE_STATUS_NOT_SUPPORTED) == DEEPBENCH_UNSUPPORTED);
  CHECK(thrown_status(cudaErrorNoKernelImageForDevice) == DEEPBENCH_UNSUPPORTED);
  CHECK(thrown_status(cudaErrorInvalidValue) == DEEPBENCH_FAILED);
  CHECK(thrown_status(NVRTC_ERROR_COMPILATION) == DEEPBENCH_FAILED);
  CHECK(thrown_status(CUDNN_STATUS_BAD_PARAM) == DEEPBENCH_FAILED);
  CHECK(thrown_status(CUSPARSE_STATUS_INVALID_VALUE) == DEEPBENCH_FAILED);
  CHECK(thrown_status(NVML_ERROR_UNKNOWN) == DEEPBENCH_FAILED);
}

TEST_CASE("a message names library, expression, file and line, without the build folder") {
  const std::string text = error_of(cudaErrorMemoryAllocation).what();
  CHECK(text.rfind("cudart: ", 0) == 0);
  CHECK(text.find(" from cudart().cudaMalloc(&data, bytes) at buffer.cpp:23") != std::string::npos);
  CHECK(text.find("/somewhere") == std::string::npos);
}

TEST_CASE("the called function distinguishes statuses of cuBLAS and cuBLASLt") {
  const auto message = [](auto&& failing) -> std::string {
    try {
      failing();
    } catch (const plugin::Error& error) {
      return error.what();
    }
    return "";
  };
  const cublasStatus_t status = CUBLAS_STATUS_NOT_SUPPORTED;
  const std::string lt = message([&] { CUDA_CHECK_STATUS(cublasLtMatmulAlgoCheck, status); });
  CHECK(lt.rfind("cublaslt: ", 0) == 0);
  CHECK(lt.find(" from cublasLtMatmulAlgoCheck at status_check.cpp:") != std::string::npos);
  const std::string plain = message([&] { CUDA_CHECK_STATUS(cublasGemmEx, status); });
  CHECK(plain.rfind("cublas: ", 0) == 0);
  CHECK(plain.find(" from cublasGemmEx at status_check.cpp:") != std::string::npos);
  const auto library_cublasLtMatmul = [&] { return status; };
  CHECK(message([&] { CUDA_CHECK(library_cublasLtMatmul()); }).rfind("cublaslt: ", 0) == 0);
  CHECK(message([] { CUDA_CHECK_STATUS(cublasGemmEx, CUBLAS_STATUS_SUCCESS); }).empty());
}

}  // namespace
}  // namespace deepbench::cuda_test
