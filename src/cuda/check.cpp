// What a status means for the row, and its message.
#include "check.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // statuses by their own names

struct Text {
  std::string library, name, text;
};

[[noreturn]] void fail(deepbench_status status, const Text& text, const Place& place) {
  const std::string_view file = place.file;
  throw plugin::Error(
      status, text.library + ": " + text.name + (text.text.empty() ? "" : " (" + text.text + ")") +
                  " from " + place.expression + " at " +
                  std::string(file.substr(file.rfind('/') + 1)) + ":" + std::to_string(place.line));
}

std::string or_number(const char* name, int status) {
  return name ? name : "status " + std::to_string(status);
}
std::string or_nothing(const char* text) { return text ? text : ""; }

Text text_of(cudaError_t status) {
  if (!report<Cudart>().usable()) return {"cudart", or_number(nullptr, status), ""};
  return {"cudart", or_number(cudart().cudaGetErrorName(status), status),
          or_nothing(cudart().cudaGetErrorString(status))};
}

Text text_of(CUresult status) {
  const char *name = nullptr, *text = nullptr;
  if (report<Driver>().usable()) {
    driver().cuGetErrorName(status, &name);
    driver().cuGetErrorString(status, &text);
  }
  return {"driver", or_number(name, status), or_nothing(text)};
}

Text text_of(nvrtcResult status) {
  const bool usable = report<Nvrtc>().usable();
  return {"nvrtc", or_number(usable ? nvrtc().nvrtcGetErrorString(status) : nullptr, status), ""};
}

Text text_of(nvmlReturn_t status) {
  const bool usable = report<Nvml>().usable();
  return {"nvml", or_number(nullptr, status),
          or_nothing(usable ? nvml().nvmlErrorString(status) : nullptr)};
}

// cuBLAS and cuBLASLt have their statuses in common; cuBLASLt's functions have its name.
Text text_of(cublasStatus_t status, const Place& place) {
  const bool lt = std::string_view(place.expression).find("cublasLt") != std::string_view::npos;
  Text text = {lt ? "cublaslt" : "cublas", or_number(nullptr, status), ""};
  if (lt && report<CublasLt>().usable()) {
    text.name = or_number(cublaslt().cublasLtGetStatusName(status), status);
    text.text = or_nothing(cublaslt().cublasLtGetStatusString(status));
  } else if (!lt && report<Cublas>().usable()) {
    text.name = or_number(cublas().cublasGetStatusName(status), status);
    text.text = or_nothing(cublas().cublasGetStatusString(status));
  }
  return text.text == text.name ? Text{text.library, text.name, ""} : text;
}

// What the library itself says of its last error is longer than the status' name.
Text text_of(cudnnStatus_t status) {
  Text text = {"cudnn", std::to_string(int(status)), ""};
  if (!report<Cudnn>().usable()) return text;
  text.name = or_number(cudnn().cudnnGetErrorString(status), status);
  if (cudnn().cudnnGetLastErrorString) {
    char last[1024] = "";
    cudnn().cudnnGetLastErrorString(last, sizeof last);
    text.text = std::string(last).substr(0, std::string_view(last).find('\n'));
  }
  return text;
}

Text text_of(cusparseStatus_t status) {
  Text text = {"cusparse", std::to_string(int(status)), ""};
  if (!report<Cusparse>().usable()) return text;
  text.name = or_number(cusparse().cusparseGetErrorName(status), status);
  text.text = or_nothing(cusparse().cusparseGetErrorString(status));
  return text;
}

// NCCL's own last words, of any communicator, say what it was about.
Text text_of(ncclResult_t status) {
  Text text = {"nccl", or_number(nullptr, status), ""};
  if (!report<Nccl>().usable()) return text;
  text.name = or_number(nccl().ncclGetErrorString(status), status);
  if (nccl().ncclGetLastError) text.text = or_nothing(nccl().ncclGetLastError(nullptr));
  while (!text.text.empty() && text.text.back() == '\n') text.text.pop_back();
  text.text = text.text.substr(0, text.text.find('\n'));
  return text;
}

// Libraries have a run time of their own inside, whose last error ours does not know: only a call
// that reaches the device tells whether the context still lives.
cudaError_t sticky_error() {
  if (!report<Cudart>().usable()) return cudaSuccess;
  for (const cudaError_t error : {cudart().cudaPeekAtLastError(), cudart().cudaDeviceSynchronize()})
    if (is_sticky(error)) return error;
  cudart().cudaGetLastError();
  return cudaSuccess;
}

// The driver's and the run time's statuses have the same numbers.
deepbench_status meaning(cudaError_t status) {
  if (is_sticky(status)) return DEEPBENCH_DEVICE_LOST;
  switch (status) {
    case cudaErrorMemoryAllocation:
      return DEEPBENCH_OUT_OF_MEMORY;
    case cudaErrorNotSupported:
    case cudaErrorNoKernelImageForDevice:  // the library knows nothing as old as this device
      return DEEPBENCH_UNSUPPORTED;
    default:
      return DEEPBENCH_FAILED;
  }
}

deepbench_status meaning(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return DEEPBENCH_OUT_OF_MEMORY;
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return DEEPBENCH_UNSUPPORTED;
    default:
      return DEEPBENCH_FAILED;
  }
}

// cuDNN's thousands are the kind of error.
deepbench_status meaning(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return DEEPBENCH_OUT_OF_MEMORY;
    default:
      return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000 ? DEEPBENCH_UNSUPPORTED
                                                                : DEEPBENCH_FAILED;
  }
}

deepbench_status meaning(cusparseStatus_t status) {
  switch (status) {
    case CUSPARSE_STATUS_ALLOC_FAILED:
    case CUSPARSE_STATUS_INSUFFICIENT_RESOURCES:
      return DEEPBENCH_OUT_OF_MEMORY;
    case CUSPARSE_STATUS_NOT_SUPPORTED:
    case CUSPARSE_STATUS_ARCH_MISMATCH:
      return DEEPBENCH_UNSUPPORTED;
    default:
      return DEEPBENCH_FAILED;
  }
}

// Another rank's failure leaves the communicator dead, and with it whatever ran on it.
deepbench_status meaning(ncclResult_t status) {
  return status == ncclRemoteError ? DEEPBENCH_DEVICE_LOST : DEEPBENCH_FAILED;
}

deepbench_status meaning(nvmlReturn_t status) {
  switch (status) {
    case NVML_ERROR_GPU_IS_LOST:
    case NVML_ERROR_RESET_REQUIRED:
      return DEEPBENCH_DEVICE_LOST;
    case NVML_ERROR_NOT_SUPPORTED:
    case NVML_ERROR_FUNCTION_NOT_FOUND:
      return DEEPBENCH_UNSUPPORTED;
    case NVML_ERROR_MEMORY:
      return DEEPBENCH_OUT_OF_MEMORY;
    default:
      return DEEPBENCH_FAILED;
  }
}

// Throws what a library says that has a run time of its own inside.
[[noreturn]] void fail_of_library(deepbench_status meaning, Text text, const Place& place) {
  if (meaning == DEEPBENCH_FAILED)
    if (const cudaError_t cause = sticky_error()) {
      const Text of_cause = text_of(cause);
      text.text = of_cause.name + ": " + of_cause.text;
      fail(DEEPBENCH_DEVICE_LOST, text, place);
    }
  fail(meaning, text, place);
}

}  // namespace

// Errors of a kernel that end the context (illegal address ... launch failure), of the hardware,
// and of whoever owns the device besides us (exclusive mode, MPS). "Unknown" is what a device that
// fell off the bus often gives.
bool is_sticky(cudaError_t status) {
  constexpr cudaError_t kSticky[] = {cudaErrorDevicesUnavailable,  cudaErrorECCUncorrectable,
                                     cudaErrorNvlinkUncorrectable, cudaErrorContained,
                                     cudaErrorIllegalAddress,      cudaErrorLaunchTimeout,
                                     cudaErrorContextIsDestroyed,  cudaErrorAssert,
                                     cudaErrorHardwareStackError,  cudaErrorIllegalInstruction,
                                     cudaErrorMisalignedAddress,   cudaErrorInvalidAddressSpace,
                                     cudaErrorInvalidPc,           cudaErrorLaunchFailure,
                                     cudaErrorTensorMemoryLeak,    cudaErrorMpsRpcFailure,
                                     cudaErrorMpsClientTerminated, cudaErrorExternalDevice};
  return status == cudaErrorUnknown ||
         std::find(std::begin(kSticky), std::end(kSticky), status) != std::end(kSticky);
}

void check(cudaError_t status, const Place& place) {
  if (status == cudaSuccess) return;
  const Text text = text_of(status);
  // What did not end the context must not be taken for the next call's error.
  if (!is_sticky(status) && report<Cudart>().usable()) cudart().cudaGetLastError();
  fail(meaning(status), text, place);
}

void check(CUresult status, const Place& place) {
  if (status != CUDA_SUCCESS)
    fail(meaning(static_cast<cudaError_t>(status)), text_of(status), place);
}

void check(nvrtcResult status, const Place& place) {
  if (status == NVRTC_SUCCESS) return;
  const bool memory = status == NVRTC_ERROR_OUT_OF_MEMORY;
  fail(memory ? DEEPBENCH_OUT_OF_MEMORY : DEEPBENCH_FAILED, text_of(status), place);
}

void check(cublasStatus_t status, const Place& place) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail_of_library(meaning(status), text_of(status, place), place);
}

void check(cudnnStatus_t status, const Place& place) {
  if (status != CUDNN_STATUS_SUCCESS) fail_of_library(meaning(status), text_of(status), place);
}

void check(cusparseStatus_t status, const Place& place) {
  if (status != CUSPARSE_STATUS_SUCCESS) fail_of_library(meaning(status), text_of(status), place);
}

// What the device does may wait for other ranks for ever: it is asked without waiting for it.
void check(ncclResult_t status, const Place& place) {
  if (status == ncclSuccess) return;
  size_t available = 0, total = 0;
  const bool lost =
      report<Cudart>().usable() && is_sticky(cudart().cudaMemGetInfo(&available, &total));
  fail(lost ? DEEPBENCH_DEVICE_LOST : meaning(status), text_of(status), place);
}

void check(nvmlReturn_t status, const Place& place) {
  if (status != NVML_SUCCESS) fail(meaning(status), text_of(status), place);
}

}  // namespace deepbench::cuda
