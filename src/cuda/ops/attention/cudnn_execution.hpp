// An engine of cuDNN for attention or its gradients, and the search for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/attention/cudnn_graph.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// A fused engine for the operations, ready to be executed.
class AttentionExecution {
 public:
  // `engine` names one of engines(); "": the first that the library can build. Throws plugin::Error
  // (unsupported) if there is none.
  AttentionExecution(const Attention& attention, const std::string& engine, const Stream& stream);

  const std::string& engine() const { return engine_; }
  std::vector<std::string> engines() const;  // in the order of the heuristics
  uint64_t workspace_bytes() const { return workspace_bytes_; }

  CudnnDescriptor make_variant_pack(const AttentionOperations::Pointers& pointers) const {
    return operations_.make_variant_pack(pointers);
  }
  nvidia::cudnnStatus_t execute(nvidia::cudnnHandle_t handle, const CudnnDescriptor& pack) const;

 private:
  void query_configs();
  bool try_build(const CudnnDescriptor& config, nvidia::cudnnHandle_t handle);

  const AttentionOperations operations_;
  CudnnDescriptor graph_;
  std::vector<CudnnDescriptor> configs_;
  CudnnDescriptor plan_;
  std::string engine_, refusal_;
  uint64_t workspace_bytes_ = 0;
};

}  // namespace deepbench::cuda
