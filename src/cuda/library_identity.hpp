// What a library says of itself: its version and the CUDA that it was made for. Needs no device.
#pragma once

#include <string>

#include "libraries.hpp"

namespace deepbench::cuda {

struct LibraryIdentity {
  std::string version;
  int cuda_major = 0;  // 0: unknown, or the same for all
  std::string reason;  // why it cannot be used although it is there
};

// Of a table that was just filled; any function may be nullptr. `path` is the library's file.
LibraryIdentity identify(const nvidia::Driver& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cudart& table, const std::string& path);
LibraryIdentity identify(const nvidia::Nvrtc& table, const std::string& path);
LibraryIdentity identify(const nvidia::NvJitLink& table, const std::string& path);
LibraryIdentity identify(const nvidia::CublasLt& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cublas& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cudnn& table, const std::string& path);
LibraryIdentity identify(const nvidia::Cusparse& table, const std::string& path);
LibraryIdentity identify(const nvidia::Nccl& table, const std::string& path);
// Starts NVML.
LibraryIdentity identify(const nvidia::Nvml& table, const std::string& path);
LibraryIdentity identify(const nvidia::Nvtx& table, const std::string& path);

}  // namespace deepbench::cuda
