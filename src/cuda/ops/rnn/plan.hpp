// cuDNN's plan of a recurrent layer: the algorithm and its requirements.
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
  // Duration of creating the descriptors, which compiles the kernels of persist_dynamic.
  double planning_ns = 0;
};

// Throws plugin::Error: unsupported with the reason, or invalid for an unknown candidate.
LayerPlan plan_layer(const Rnn& rnn, const plugin::Options& options);

// Whether the algorithm keeps partial sums of the recurrent product in the precision's narrow type,
// although float is requested. The library does not report it; the outputs show it.
bool rounds_partial_sums(const Rnn& rnn, const std::string& algorithm);

// The names of cuDNN's algorithms that plan_layer accepts and that support the layer, "standard"
// first. An algorithm that does not keep sums in 32 bits is not a candidate; it runs only if it is
// requested by name. If options.limit is set, persist_dynamic, which compiles for every problem, is
// omitted as well.
std::vector<std::string> layer_candidates(const Rnn& rnn, const plugin::Options& options);

}  // namespace deepbench::cuda::dnn
