// Turns statuses of NVIDIA's libraries into plugin::Error: the message names library, status,
// expression and source location.
#pragma once

#include "libraries.hpp"

namespace deepbench::cuda {

// The location of an expression. The expression contains the vendor's function: cuBLAS and cuBLASLt
// share one type of status, and only the name of the function shows the library.
struct SourceLocation {
  const char* expression;
  const char* file;
  int line;
};

// Throws unless the status is success: DEVICE_LOST for errors after which the process cannot use
// the device (illegal address, launch failure, uncorrectable memory error ...), OUT_OF_MEMORY, or
// FAILED. If a library only reports that the execution failed, the CUDA runtime is queried for the
// cause.
void check(nvidia::CUresult status, const SourceLocation& location);
void check(nvidia::cudaError_t status, const SourceLocation& location);
void check(nvidia::nvrtcResult status, const SourceLocation& location);
void check(nvidia::cublasStatus_t status, const SourceLocation& location);
void check(nvidia::cudnnStatus_t status, const SourceLocation& location);
void check(nvidia::cusparseStatus_t status, const SourceLocation& location);
void check(nvidia::nvmlReturn_t status, const SourceLocation& location);
void check(nvidia::ncclResult_t status, const SourceLocation& location);

// Whether the process cannot use the device after this error.
bool is_sticky(nvidia::cudaError_t status);

}  // namespace deepbench::cuda

// NOLINTNEXTLINE: the expression's text and location need a macro.
#define CUDA_CHECK(expression)           \
  ::deepbench::cuda::check((expression), \
                           ::deepbench::cuda::SourceLocation{#expression, __FILE__, __LINE__})

// Checks a status that a vendor's function returned earlier; `function` is that function.
// NOLINTNEXTLINE: as above.
#define CUDA_CHECK_STATUS(function, status) \
  ::deepbench::cuda::check((status),        \
                           ::deepbench::cuda::SourceLocation{#function, __FILE__, __LINE__})
