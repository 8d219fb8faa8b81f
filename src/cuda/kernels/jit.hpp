// The built-in kernels: the sources in this folder, which NVRTC compiles to machine code for the
// present device on first use. Compiled kernels are cached on disk by content, device and compiler.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/plugin.hpp"
#include "device.hpp"
#include "nvidia/driver.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

struct LaunchShape {
  uint32_t grid_x = 1, grid_y = 1, grid_z = 1;
  uint32_t block_x = 1, block_y = 1, block_z = 1;
  uint32_t shared_bytes = 0;
  // The blocks wait for one another. The driver refuses the launch unless all of them fit on the
  // device at the same time, and begins none before all can begin.
  bool cooperative = false;
  uint64_t blocks() const { return uint64_t(grid_x) * grid_y * grid_z; }
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
  // Throws plugin::Error (unsupported) with the reason if a cooperative launch of this shape is not
  // possible on the device of this function.
  void require_resident(const LaunchShape& shape, int device) const;

 private:
  friend class Functions;
  void launch_with(const LaunchShape& shape, nvidia::cudaStream_t stream, void** arguments) const;
  void permit_shared_memory(const LaunchShape& shape) const;
  nvidia::CUfunction function_ = nullptr;
  std::string name_;
};

// The part of require_resident() that depends on no driver: `per_multiprocessor` blocks of the
// shape fit on one multiprocessor.
void require_resident_blocks(const LaunchShape& shape, uint64_t per_multiprocessor,
                             const DeviceFacts& device);

// Returns a kernel of kernels/FILE.cu for the stream's device: an extern "C" kernel by its name
// ("operand", "fill_elements"), or an instance of a template ("reduce", "sum<float>"). The extern
// "C" kernels of a file are compiled and loaded together. Throws plugin::Error: unsupported without
// NVRTC, failed with the compiler's log if the kernel does not compile.
const Function& function(const std::string& file, const std::string& expression,
                         const Stream& stream);

// A kernel and the time that finding it took. compiling_ns is the part of that time spent on
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
