// cuDNN's execution plan of an engine for one problem. Building it takes long.
#pragma once

#include <memory>

#include "ops/conv/cudnn_graph.hpp"

namespace deepbench::cuda::dnn {

// An engine with its knobs for one layout, ready to be executed.
class ExecutionPlan {
 public:
  // Throws plugin::Error (unsupported) if the plan cannot be built. Several threads may build plans
  // at the same time if each uses a separate handle and graph.
  ExecutionPlan(std::shared_ptr<const OperationGraph> graph, const Engine& engine,
                nvidia::cudnnHandle_t handle);

  // Inspects the kernels of a call; notes() is complete only after that. Throws like the
  // constructor.
  void note_kernels(const Stream& stream);

  const Engine& engine() const { return engine_; }
  const EngineNotes& notes() const { return notes_; }  // includes Winograd and FFT by kernel names
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  double built_ns() const { return built_ns_; }  // includes waiting for other threads' plans

  // The pointers for one call.
  CudnnDescriptor make_variant_pack(void* x, void* w, void* y, void* workspace) const;
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
