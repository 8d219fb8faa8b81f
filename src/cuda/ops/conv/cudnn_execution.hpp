// What cuDNN makes of an engine for one problem: a plan, which takes long to build.
#pragma once

#include <memory>

#include "ops/conv/cudnn_graph.hpp"

namespace deepbench::cuda::dnn {

// One engine with its knobs for one layout, ready to be executed.
class ExecutionPlan {
 public:
  // Throws plugin::Error, unsupported, where it cannot be built. Several threads may build plans,
  // each with a handle and a graph of its own.
  ExecutionPlan(std::shared_ptr<const OperationGraph> graph, const Engine& engine,
                nvidia::cudnnHandle_t handle);

  // Looks at a call's kernels: only then notes() are complete. Throws as the constructor does.
  void note_kernels(const Stream& stream);

  const Engine& engine() const { return engine_; }
  const EngineNotes& notes() const { return notes_; }  // Winograd and FFT by the kernels' names too
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  double built_ns() const { return built_ns_; }  // waiting for other threads' plans included

  // What one call is made on.
  CudnnDescriptor variants(void* x, void* w, void* y, void* workspace) const;
  nvidia::cudnnStatus_t execute(nvidia::cudnnHandle_t handle,
                                const CudnnDescriptor& variants) const;

 private:
  std::shared_ptr<const OperationGraph> graph_;
  Engine engine_;
  EngineNotes notes_;
  ConfigDescriptor config_;
  CudnnDescriptor plan_;
  uint64_t workspace_bytes_ = 0;
  double built_ns_ = 0;
};

}  // namespace deepbench::cuda::dnn
