// A recurrent layer as cuDNN runs it: with which algorithm, and what that needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "ops/rnn/descriptors.hpp"
#include "ops/rnn/storage.hpp"

namespace deepbench::cuda::dnn {

struct LayerPlan {
  std::string algorithm;
  LayerStorage storage;
  std::shared_ptr<const LayerDescriptors> descriptors;
  uint64_t workspace_bytes = 0;
  double planning_ns = 0;  // of making the descriptors, which compiles persist_dynamic's kernels
};

// Throws plugin::Error: unsupported with the reason, or invalid for an unknown candidate.
LayerPlan plan_layer(const Rnn& rnn, const plugin::Options& options);

// cuDNN's algorithms that can do the layer, by the names that plan_layer takes; "standard" first.
// Where options.limit asks for the promising ones, without persist_dynamic, which compiles for
// every problem.
std::vector<std::string> layer_candidates(const Rnn& rnn, const plugin::Options& options);

}  // namespace deepbench::cuda::dnn
