// A convolution as cuDNN plans it: which layout, which engine, what it needs, and which others
// there are.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "ops/conv/cudnn_graph.hpp"

namespace deepbench::cuda::dnn {

// One engine with its knobs for one layout, ready to be executed.
class ExecutionPlan {
 public:
  // nullptr, with the reason, where it cannot be built.
  static std::shared_ptr<const ExecutionPlan> build(std::shared_ptr<const OperationGraph> graph,
                                                    const Engine& engine, const Stream& stream,
                                                    std::string* reason);

  const Engine& engine() const { return engine_; }
  const EngineNotes& notes() const { return notes_; }  // Winograd and FFT by the kernels' names too
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  double built_ns() const { return built_ns_; }

  // What one call is made on.
  CudnnDescriptor variants(void* x, void* w, void* y, void* workspace) const;
  nvidia::cudnnStatus_t execute(nvidia::cudnnHandle_t handle,
                                const CudnnDescriptor& variants) const;

 private:
  void make(std::shared_ptr<const OperationGraph> graph, const Engine& engine,
            const Stream& stream);
  void note_kernels(const Stream& stream);

  std::shared_ptr<const OperationGraph> graph_;
  Engine engine_;
  EngineNotes notes_;
  ConfigDescriptor config_;
  CudnnDescriptor plan_;
  uint64_t workspace_bytes_ = 0;
  double built_ns_ = 0;
};

struct ConvPlan {
  ConvLayout layout;
  std::shared_ptr<const ExecutionPlan> execution;
  double planning_ns = 0;  // the heuristics' answer, where it was asked, and building

  uint64_t workspace_bytes() const { return execution->workspace_bytes(); }
  std::string algorithm() const;  // "nhwc: eng22_k2=18 (winograd)"
};

// Throws plugin::Error: unsupported with the reason, or invalid for an unknown candidate.
ConvPlan plan_conv(const Conv& conv, const std::string& layout, const plugin::Options& options);

// Ids that plan_conv takes for this problem, all of which can be built and fit the workspace's
// limit: the library's own choice first, then by promise.
std::vector<std::string> conv_candidates(const Conv& conv, const std::string& layout,
                                         const plugin::Options& options);

}  // namespace deepbench::cuda::dnn
