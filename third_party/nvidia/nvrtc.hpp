// The functions of NVRTC, the run-time compiler (libnvrtc.so.12 and .13), that deepbench calls.
#pragma once

#include "function_table.hpp"

namespace deepbench::nvidia {

using nvrtcProgram = struct _nvrtcProgram*;

enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_PROGRAM_CREATION_FAILURE = 2,
  NVRTC_ERROR_INVALID_INPUT = 3,
  NVRTC_ERROR_INVALID_PROGRAM = 4,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_BUILTIN_OPERATION_FAILURE = 7,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
  NVRTC_ERROR_INTERNAL_ERROR = 11,
};

#define DEEPBENCH_NVIDIA_NVRTC_REQUIRED(X)                                               \
  X(nvrtcResult, nvrtcVersion, (int* major, int* minor))                                 \
  X(nvrtcResult, nvrtcGetNumSupportedArchs, (int* count))                                \
  X(nvrtcResult, nvrtcGetSupportedArchs, (int* architectures))                           \
  X(nvrtcResult, nvrtcCreateProgram,                                                     \
    (nvrtcProgram * program, const char* source, const char* name, int headers,          \
     const char* const* texts, const char* const* include_names))                        \
  X(nvrtcResult, nvrtcDestroyProgram, (nvrtcProgram * program))                          \
  X(nvrtcResult, nvrtcAddNameExpression, (nvrtcProgram program, const char* expression)) \
  X(nvrtcResult, nvrtcCompileProgram,                                                    \
    (nvrtcProgram program, int count, const char* const* options))                       \
  X(nvrtcResult, nvrtcGetProgramLogSize, (nvrtcProgram program, size_t * bytes))         \
  X(nvrtcResult, nvrtcGetProgramLog, (nvrtcProgram program, char* log))                  \
  X(nvrtcResult, nvrtcGetCUBINSize, (nvrtcProgram program, size_t * bytes))              \
  X(nvrtcResult, nvrtcGetCUBIN, (nvrtcProgram program, char* image))                     \
  X(nvrtcResult, nvrtcGetPTXSize, (nvrtcProgram program, size_t * bytes))                \
  X(nvrtcResult, nvrtcGetPTX, (nvrtcProgram program, char* image))                       \
  X(nvrtcResult, nvrtcGetLoweredName,                                                    \
    (nvrtcProgram program, const char* expression, const char** lowered))                \
  X(const char*, nvrtcGetErrorString, (nvrtcResult result))

#define DEEPBENCH_NVIDIA_NVRTC_OPTIONAL(X)

DEEPBENCH_NVIDIA_TABLE(Nvrtc, DEEPBENCH_NVIDIA_NVRTC_REQUIRED, DEEPBENCH_NVIDIA_NVRTC_OPTIONAL);

}  // namespace deepbench::nvidia
