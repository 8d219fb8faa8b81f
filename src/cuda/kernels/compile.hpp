// Compiles a kernel's source with NVRTC to code that a device runs.
#pragma once

#include <string>
#include <vector>

#include "deepbench/backend/kernel_cache.hpp"
#include "kernels/sources.hpp"

namespace deepbench::cuda {

using plugin::CompiledImage;

// The compiler's output for a device: machine code if it knows the device's generation, and
// otherwise PTX for the newest generation that it knows, which the driver compiles.
struct Target {
  int architecture = 0;  // 90 stands for compute capability 9.0
  bool machine_code = true;
  std::string option() const;  // "sm_90" or "compute_90"
};

// Chooses the target for a device of architecture `device` and a compiler that knows the
// architectures `known`. Throws plugin::Error (unsupported) if the device can run none of them.
Target target_for(int device, const std::vector<int>& known);

// Compiles for a device of the given architecture. `expression` names an instance of a template,
// such as "fill<float>", which the image then contains; if it is empty, the image contains the
// extern "C" kernels of the source. Throws plugin::Error: unsupported without NVRTC, failed with
// the compiler's log.
CompiledImage compile(const Source& source, const std::string& expression, int device_architecture);

// Identifies the compiler by its file and version. Throws plugin::Error without NVRTC.
std::string compiler_identity();

// Everything that the compiled code depends on: the texts, the expression, the options, the device
// and the compiler.
std::string cache_key(const Source& source, const std::string& expression, int device_architecture,
                      const std::string& compiler);

}  // namespace deepbench::cuda
