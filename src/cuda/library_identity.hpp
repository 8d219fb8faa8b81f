// The version of a library and the CUDA that it was built for, as the library reports them. Needs
// no device.
#pragma once

#include <string>

#include "libraries.hpp"

namespace deepbench::cuda {

struct LibraryIdentity {
  std::string version;
  int cuda_major = 0;  // 0: unknown, or usable with every major
  std::string reason;  // why the library is not usable although its file exists
};

// `table` was just filled, and any of its functions may be nullptr. `path` is the library's file.
LibraryIdentity identify(const nvidia::Driver& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cudart& table, const std::string& path);
LibraryIdentity identify(const nvidia::Nvrtc& table, const std::string& path);
LibraryIdentity identify(const nvidia::NvJitLink& table, const std::string& path);
LibraryIdentity identify(const nvidia::CublasLt& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cublas& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cudnn& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cusparse& table, const std::string& path);
LibraryIdentity identify(const nvidia::Nccl& table, const std::string& path);
// Initializes NVML.
LibraryIdentity identify(const nvidia::Nvml& table, const std::string& path);
LibraryIdentity identify(const nvidia::Nvtx& table, const std::string& path);

}  // namespace deepbench::cuda
