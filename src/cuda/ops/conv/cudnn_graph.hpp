// A convolution as cuDNN's graph interface describes it, and the engines that it names for it.
#pragma once

#include <optional>
#include <vector>

#include "cudnn/descriptor.hpp"
#include "ops/conv/engine.hpp"
#include "ops/conv/layout.hpp"
#include "stream.hpp"

namespace deepbench::cuda::dnn {

nvidia::cudnnDataType_t data_type(deepbench_type type);

// What the library says of an engine.
struct EngineNotes {
  bool tensor_core = false, down_converts = false, reduced_reduction = false;
  bool fft = false, winograd = false, nondeterministic = false;
  bool compiles = false;         // at run time, for tenths of seconds
  bool reorders_filter = false;  // takes 8-bit filters in an order of its own
};

struct EngineConfig {
  Engine engine;
  EngineNotes notes;
};

// As the library has it; what it is made of stays beside it.
struct ConfigDescriptor {
  CudnnDescriptor engine;
  std::vector<CudnnDescriptor> knobs;
  CudnnDescriptor config;
  EngineNotes notes;
};

// The operation and its tensors, with their unique ids: what needs no device.
class Operation {
 public:
  static constexpr int64_t kX = 'x', kW = 'w', kY = 'y';

  // Throws plugin::Error, unsupported, where the library takes no such description.
  explicit Operation(const ConvLayout& layout);

  const CudnnDescriptor& descriptor() const { return operation_; }

 private:
  CudnnDescriptor x_, w_, y_, convolution_, operation_;
};

class OperationGraph {
 public:
  // Throws as Operation does.
  OperationGraph(const ConvLayout& layout, nvidia::cudnnHandle_t handle);

  // What the heuristics answer, best first.
  std::vector<EngineConfig> heuristics(nvidia::cudnnBackendHeurMode_t mode) const;

  // How many engines the library has for it: their numbers are below that.
  int64_t engines() const;

  // The engine with its knobs, those that are not named as the library has them; none where the
  // library does not know it.
  std::optional<ConfigDescriptor> config(const Engine& engine) const;

 private:
  Operation operation_;
  CudnnDescriptor graph_;
};

}  // namespace deepbench::cuda::dnn
