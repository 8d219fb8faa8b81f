// From a kernel's source to code that a device runs, by NVRTC.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernel_cache.hpp"
#include "kernels/sources.hpp"

namespace deepbench::cuda {

// What the compiler makes for a device: machine code where it knows the device's generation, else
// PTX of the newest that it knows, which the driver then compiles.
struct Target {
  int architecture = 0;  // 90: compute capability 9.0
  bool machine_code = true;
  std::string option() const;  // "sm_90" or "compute_90"
};

// For a device of that architecture and a compiler that knows these. Throws plugin::Error
// (unsupported) if the compiler knows none that the device runs.
Target target_for(int device, const std::vector<int>& known);

// Compiles for a device of that architecture. `expression` names an instance of a template, such as
// "fill<float>", which the image then holds; if it is empty the image holds the source's extern "C"
// kernels. Throws plugin::Error: unsupported without NVRTC, failed with the compiler's log.
Image compile(const Source& source, const std::string& expression, int device_architecture);

// Tells one compiler from another: its file and version. Throws plugin::Error without NVRTC.
std::string compiler_identity();

// What code depends on: the texts, the expression, the options, the device and the compiler.
std::string cache_key(const Source& source, const std::string& expression, int device_architecture,
                      const std::string& compiler);

}  // namespace deepbench::cuda
