// The built-in kernels: the sources in this folder, which NVRTC compiles to machine code for the
// present device on first use. Compiled kernels are cached on disk by content, device and compiler.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/plugin.hpp"
#include "nvidia/driver.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

struct LaunchShape {
  uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
  uint32_t block_x = 1, block_y = 1, block_z = 1;
  uint32_t shared_bytes = 0;
};

// One compiled kernel on one device. It lives until the process ends.
class Function {
 public:
  // The arguments must have exactly the types of the parameters.
  template <class... Arguments>
  void launch(const LaunchShape& shape, nvidia::cudaStream_t stream, Arguments... arguments) const {
    void* pointers[] = {&arguments...};
    launch_with(shape, stream, pointers);
  }
  const std::string& name() const { return name_; }

 private:
  friend class Functions;
  void launch_with(const LaunchShape& shape, nvidia::cudaStream_t stream, void** arguments) const;
  nvidia::CUfunction function_ = nullptr;
  std::string name_;
};

// Returns a kernel of kernels/FILE.cu for the stream's device: an extern "C" kernel by its name
// ("operand", "fill_elements"), or an instance of a template ("reduce", "sum<float>"). The extern
// "C" kernels of a file are compiled and loaded together. Throws plugin::Error: unsupported without
// NVRTC, failed with the compiler's log if the kernel does not compile.
const Function& function(const std::string& file, const std::string& expression,
                         const Stream& stream);

// The same kernel with the duration of finding it. compiling_ns is the part of it spent on
// compilation, 0 if the kernel was cached.
struct PlannedFunction {
  const Function& kernel;
  double planning_ns, compiling_ns;
  void describe(plugin::Sink& sink) const;
};
PlannedFunction planned_function(const std::string& file, const std::string& expression,
                                 const Stream& stream);

// Like function(), but from a source text instead of a file. `name` appears in messages. For tests.
const Function& function_from_text(const std::string& name, const std::string& source,
                                   const std::string& expression, const Stream& stream);

}  // namespace deepbench::cuda
