// A convolution in cuDNN's graph API, and the engines that the library offers for it.
#pragma once

#include <optional>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "cudnn/engine.hpp"
#include "ops/conv/layout.hpp"
#include "stream.hpp"

namespace deepbench::cuda::dnn {

// The properties that the library reports for an engine.
struct EngineNotes {
  bool tensor_core = false, down_converts = false, reduced_reduction = false;
  bool fft = false, winograd = false, nondeterministic = false;
  bool compiles = false;         // at run time, which takes tenths of a second
  bool reorders_filter = false;  // requires 8-bit filters in a special order
  bool tf32_kernel = false;      // by the names of its kernels

  // Whether an engine for 32-bit operands computes in float.
  bool compute_in_float() const { return !tensor_core && !down_converts && !tf32_kernel; }
};

struct EngineConfig {
  Engine engine;
  EngineNotes notes;
};

// The library's descriptor of an engine configuration, with the descriptors that it refers to.
struct ConfigDescriptor {
  CudnnDescriptor engine;
  std::vector<CudnnDescriptor> knobs;
  CudnnDescriptor config;
  EngineNotes notes;
};

// The operation and its tensors with their unique ids: the part of the description that needs no
// device.
class Operation {
 public:
  static constexpr int64_t kX = 'x', kW = 'w', kY = 'y';

  // Throws plugin::Error (unsupported) if the library rejects the description.
  explicit Operation(const ConvLayout& layout);

  const CudnnDescriptor& descriptor() const { return operation_; }

 private:
  CudnnDescriptor x_, w_, y_, convolution_, operation_;
};

class OperationGraph {
 public:
  // Throws like Operation.
  OperationGraph(const ConvLayout& layout, nvidia::cudnnHandle_t handle);

  // The results of the heuristics, best first.
  std::vector<EngineConfig> heuristics(nvidia::cudnnBackendHeurMode_t mode) const;

  // The number of engines that the library has for the graph. Engines are numbered from 0.
  int64_t engine_count() const;

  // The engine with its knobs; knobs that `engine` does not name keep the library's defaults.
  // Returns nothing if the library does not know the engine.
  std::optional<ConfigDescriptor> config(const Engine& engine) const;

 private:
  Operation operation_;
  CudnnDescriptor graph_;
};

}  // namespace deepbench::cuda::dnn
