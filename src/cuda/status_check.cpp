// Maps each status of a library to the status of a row and to a message.
#include "status_check.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda {
namespace {

using namespace nvidia;  // statuses have the names of the documentation

struct StatusText {
  std::string library, name, text;
};

[[noreturn]] void fail(deepbench_status status, const StatusText& text,
                       const SourceLocation& location) {
  const std::string_view file = location.file;
  throw plugin::Error(status, text.library + ": " + text.name +
                                  (text.text.empty() ? "" : " (" + text.text + ")") + " from " +
                                  location.expression + " at " +
                                  std::string(file.substr(file.rfind('/') + 1)) + ":" +
                                  std::to_string(location.line));
}

std::string name_or_number(const char* name, int status) {
  return name ? name : "status " + std::to_string(status);
}
std::string text_or_empty(const char* text) { return text ? text : ""; }

StatusText status_text(cudaError_t status) {
  if (!report<Cudart>().usable()) return {"cudart", name_or_number(nullptr, status), ""};
  return {"cudart", name_or_number(cudart().cudaGetErrorName(status), status),
          text_or_empty(cudart().cudaGetErrorString(status))};
}

StatusText status_text(CUresult status) {
  const char *name = nullptr, *text = nullptr;
  if (report<Driver>().usable()) {
    driver().cuGetErrorName(status, &name);
    driver().cuGetErrorString(status, &text);
  }
  return {"driver", name_or_number(name, status), text_or_empty(text)};
}

StatusText status_text(nvrtcResult status) {
  const bool usable = report<Nvrtc>().usable();
  return {"nvrtc", name_or_number(usable ? nvrtc().nvrtcGetErrorString(status) : nullptr, status),
          ""};
}

StatusText status_text(nvmlReturn_t status) {
  const bool usable = report<Nvml>().usable();
  return {"nvml", name_or_number(nullptr, status),
          text_or_empty(usable ? nvml().nvmlErrorString(status) : nullptr)};
}

// cuBLAS and cuBLASLt share their statuses; the name of the function shows the library.
StatusText status_text(cublasStatus_t status, const SourceLocation& location) {
  const bool lt = std::string_view(location.expression).find("cublasLt") != std::string_view::npos;
  StatusText text = {lt ? "cublaslt" : "cublas", name_or_number(nullptr, status), ""};
  if (lt && report<CublasLt>().usable()) {
    text.name = name_or_number(cublaslt().cublasLtGetStatusName(status), status);
    text.text = text_or_empty(cublaslt().cublasLtGetStatusString(status));
  } else if (!lt && report<Cublas>().usable()) {
    text.name = name_or_number(cublas().cublasGetStatusName(status), status);
    text.text = text_or_empty(cublas().cublasGetStatusString(status));
  }
  return text.text == text.name ? StatusText{text.library, text.name, ""} : text;
}

// The library's text for its last error is longer than the name of the status.
StatusText status_text(cudnnStatus_t status) {
  StatusText text = {"cudnn", std::to_string(int(status)), ""};
  if (!report<Cudnn>().usable()) return text;
  text.name = name_or_number(cudnn().cudnnGetErrorString(status), status);
  if (cudnn().cudnnGetLastErrorString) {
    char last[1024] = "";
    cudnn().cudnnGetLastErrorString(last, sizeof last);
    text.text = std::string(last).substr(0, std::string_view(last).find('\n'));
  }
  return text;
}

StatusText status_text(cusparseStatus_t status) {
  StatusText text = {"cusparse", std::to_string(int(status)), ""};
  if (!report<Cusparse>().usable()) return text;
  text.name = name_or_number(cusparse().cusparseGetErrorName(status), status);
  text.text = text_or_empty(cusparse().cusparseGetErrorString(status));
  return text;
}

// NCCL's last message often has the cause, even if it is that of another communicator.
StatusText status_text(ncclResult_t status) {
  StatusText text = {"nccl", name_or_number(nullptr, status), ""};
  if (!report<Nccl>().usable()) return text;
  text.name = name_or_number(nccl().ncclGetErrorString(status), status);
  if (nccl().ncclGetLastError) text.text = text_or_empty(nccl().ncclGetLastError(nullptr));
  while (!text.text.empty() && text.text.back() == '\n') text.text.pop_back();
  text.text = text.text.substr(0, text.text.find('\n'));
  return text;
}

// These libraries contain their own copy of the runtime, whose errors are unknown to ours: only a
// call that reaches the device shows whether the context is still usable.
cudaError_t sticky_error() {
  if (!report<Cudart>().usable()) return cudaSuccess;
  for (const cudaError_t error : {cudart().cudaPeekAtLastError(), cudart().cudaDeviceSynchronize()})
    if (is_sticky(error)) return error;
  cudart().cudaGetLastError();
  return cudaSuccess;
}

// The statuses of the driver and of the runtime have the same numbers.
deepbench_status backend_status(cudaError_t status) {
  if (is_sticky(status)) return DEEPBENCH_DEVICE_LOST;
  switch (status) {
    case cudaErrorMemoryAllocation:
      return DEEPBENCH_OUT_OF_MEMORY;
    case cudaErrorNotSupported:
    case cudaErrorNoKernelImageForDevice:  // the library does not support a device this old
      return DEEPBENCH_UNSUPPORTED;
    default:
      return DEEPBENCH_FAILED;
  }
}

deepbench_status backend_status(cublasStatus_t status) {
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

// The thousands digit of cuDNN's statuses is the kind of error.
deepbench_status backend_status(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return DEEPBENCH_OUT_OF_MEMORY;
    default:
      return status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000 ? DEEPBENCH_UNSUPPORTED
                                                                : DEEPBENCH_FAILED;
  }
}

deepbench_status backend_status(cusparseStatus_t status) {
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

// The failure of another rank makes the communicator, and all work on it, unusable.
deepbench_status backend_status(ncclResult_t status) {
  return status == ncclRemoteError ? DEEPBENCH_DEVICE_LOST : DEEPBENCH_FAILED;
}

deepbench_status backend_status(nvmlReturn_t status) {
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

// Throws the error of a library that contains its own copy of the runtime.
[[noreturn]] void fail_with_device_cause(deepbench_status status, StatusText text,
                                         const SourceLocation& location) {
  if (status == DEEPBENCH_FAILED)
    if (const cudaError_t cause = sticky_error()) {
      const StatusText of_cause = status_text(cause);
      text.text = of_cause.name + ": " + of_cause.text;
      fail(DEEPBENCH_DEVICE_LOST, text, location);
    }
  fail(status, text, location);
}

}  // namespace

// Whether the error ends the context: errors of a kernel (illegal address ... launch failure),
// errors of the hardware, and conflicts with other users of the device (exclusive mode, MPS). A
// device that is no longer on the bus often reports "unknown".
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

void check(cudaError_t status, const SourceLocation& location) {
  if (status == cudaSuccess) return;
  const StatusText text = status_text(status);
  // An error that did not end the context must not be reported by the next call.
  if (!is_sticky(status) && report<Cudart>().usable()) cudart().cudaGetLastError();
  fail(backend_status(status), text, location);
}

void check(CUresult status, const SourceLocation& location) {
  if (status != CUDA_SUCCESS)
    fail(backend_status(static_cast<cudaError_t>(status)), status_text(status), location);
}

void check(nvrtcResult status, const SourceLocation& location) {
  if (status == NVRTC_SUCCESS) return;
  const bool memory = status == NVRTC_ERROR_OUT_OF_MEMORY;
  fail(memory ? DEEPBENCH_OUT_OF_MEMORY : DEEPBENCH_FAILED, status_text(status), location);
}

void check(cublasStatus_t status, const SourceLocation& location) {
  if (status != CUBLAS_STATUS_SUCCESS)
    fail_with_device_cause(backend_status(status), status_text(status, location), location);
}

void check(cudnnStatus_t status, const SourceLocation& location) {
  if (status != CUDNN_STATUS_SUCCESS)
    fail_with_device_cause(backend_status(status), status_text(status), location);
}

void check(cusparseStatus_t status, const SourceLocation& location) {
  if (status != CUSPARSE_STATUS_SUCCESS)
    fail_with_device_cause(backend_status(status), status_text(status), location);
}

// The work on the device may wait for other ranks forever: the query does not wait for it.
void check(ncclResult_t status, const SourceLocation& location) {
  if (status == ncclSuccess) return;
  size_t available = 0, total = 0;
  const bool lost =
      report<Cudart>().usable() && is_sticky(cudart().cudaMemGetInfo(&available, &total));
  fail(lost ? DEEPBENCH_DEVICE_LOST : backend_status(status), status_text(status), location);
}

void check(nvmlReturn_t status, const SourceLocation& location) {
  if (status != NVML_SUCCESS) fail(backend_status(status), status_text(status), location);
}

}  // namespace deepbench::cuda
