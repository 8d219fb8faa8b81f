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

// Whether the algorithm keeps parts of a recurrent sum in the precision's narrow type, though sums
// in float are asked for. The library does not say; the outputs do.
bool rounds_partial_sums(const Rnn& rnn, const std::string& algorithm);

// cuDNN's algorithms that can do the layer, by the names that plan_layer takes; "standard" first.
// Sums are kept in 32 bits or the algorithm is no candidate: it runs by its name alone. Where
// options.limit asks for the promising ones, persist_dynamic, which compiles for every problem, is
// left out as well.
std::vector<std::string> layer_candidates(const Rnn& rnn, const plugin::Options& options);

}  // namespace deepbench::cuda::dnn
