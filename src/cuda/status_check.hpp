// Statuses of NVIDIA's libraries become plugin::Error here, and nowhere else: the message names
// library, status, expression and location.
#pragma once

#include "libraries.hpp"

namespace deepbench::cuda {

// Where an expression stands. It names the vendor's function: cuBLAS and cuBLASLt have one type of
// status, and only the function's name tells whose it is.
struct SourceLocation {
  const char* expression;
  const char* file;
  int line;
};

// Throws unless the status is success: DEVICE_LOST for errors after which the process can make no
// further call (illegal address, launch failure, uncorrectable memory ...), OUT_OF_MEMORY, else
// FAILED. A library that only says "execution failed" is asked what CUDA's run time knows.
void check(nvidia::CUresult status, const SourceLocation& location);
void check(nvidia::cudaError_t status, const SourceLocation& location);
void check(nvidia::nvrtcResult status, const SourceLocation& location);
void check(nvidia::cublasStatus_t status, const SourceLocation& location);
void check(nvidia::cudnnStatus_t status, const SourceLocation& location);
void check(nvidia::cusparseStatus_t status, const SourceLocation& location);
void check(nvidia::nvmlReturn_t status, const SourceLocation& location);
void check(nvidia::ncclResult_t status, const SourceLocation& location);

// Whether the error is one that ends the process' use of the device.
bool is_sticky(nvidia::cudaError_t status);

}  // namespace deepbench::cuda

// NOLINTNEXTLINE: the expression's text and location need a macro.
#define CUDA_CHECK(expression)           \
  ::deepbench::cuda::check((expression), \
                           ::deepbench::cuda::SourceLocation{#expression, __FILE__, __LINE__})

// Of a status that a variable or a function of ours holds: `function` is the vendor's that gave it.
// NOLINTNEXTLINE: as above.
#define CUDA_CHECK_STATUS(function, status) \
  ::deepbench::cuda::check((status),        \
                           ::deepbench::cuda::SourceLocation{#function, __FILE__, __LINE__})
