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

// cuBLAS has a run time of its own inside, whose last error ours does not know: only a call that
// reaches the device tells whether the context still lives.
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
  if (status == CUBLAS_STATUS_SUCCESS) return;
  Text text = text_of(status, place);
  if (meaning(status) == DEEPBENCH_FAILED)
    if (const cudaError_t cause = sticky_error()) {
      const Text of_cause = text_of(cause);
      text.text = of_cause.name + ": " + of_cause.text;
      fail(DEEPBENCH_DEVICE_LOST, text, place);
    }
  fail(meaning(status), text, place);
}

void check(nvmlReturn_t status, const Place& place) {
  if (status != NVML_SUCCESS) fail(meaning(status), text_of(status), place);
}

}  // namespace deepbench::cuda
