// cuDNN's plan of a recurrent layer: the algorithm and its requirements.
#pragma once

#include <cstdint>
#include <map>
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

// What cuDNN reports about a layer with one of its algorithms.
struct LayerQuery {
  // The call that does not support the layer, and why; if set, nothing else is.
  std::string refusal;
  std::shared_ptr<const LayerDescriptors> descriptors;
  size_t workspace_bytes = 0, reserve_bytes = 0;
  WeightOffsets weights;
  double planning_ns = 0;
};

// The library's answers about one layer on one device, which all its plans share: each algorithm is
// queried once, since persist_dynamic compiles for seconds.
class LayerQueries {
 public:
  // Throws plugin::Error (unsupported) for a layer that no algorithm supports.
  LayerQueries(const Rnn& rnn, const plugin::Options& options);

  // Plans the candidate, or "standard" if it is "". Throws plugin::Error: unsupported with the
  // reason, or invalid for an unknown candidate.
  LayerPlan plan(const std::string& candidate);

  // The names of cuDNN's algorithms that plan() accepts and that support the layer, "standard"
  // first. An algorithm that does not keep sums in 32 bits is not a candidate; it runs only if it
  // is requested by name. With a limit, persist_dynamic, which compiles for every problem, is
  // omitted as well where that has never made a layer faster.
  std::vector<std::string> candidates(int64_t limit);

 private:
  const LayerQuery& query(nvidia::cudnnRNNAlgo_t algorithm);
  std::string refusal(const std::string& name, nvidia::cudnnRNNAlgo_t algorithm);

  const Rnn rnn_;
  const Stream& stream_;
  std::map<nvidia::cudnnRNNAlgo_t, LayerQuery> answers_;
};

// Whether the algorithm keeps partial sums of the recurrent product in the precision's narrow type,
// although float is requested. The library does not report it; the outputs show it.
bool rounds_partial_sums(const Rnn& rnn, const std::string& algorithm);

}  // namespace deepbench::cuda::dnn
