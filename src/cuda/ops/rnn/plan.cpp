// Queries cuDNN about a layer, once for each algorithm.
#include "ops/rnn/plan.hpp"

#include <algorithm>
#include <limits>

#include "buffer.hpp"
#include "cudnn/handle.hpp"
#include "cudnn/unique_descriptor.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "device.hpp"
#include "ops/rnn/layer_checks.hpp"
#include "prepared_kernel.hpp"
#include "status_check.hpp"

namespace deepbench::cuda::dnn {
namespace {

struct NamedAlgorithm {
  const char* name;
  nvidia::cudnnRNNAlgo_t algorithm;
};
constexpr NamedAlgorithm kAlgorithms[] = {
    {"standard", nvidia::CUDNN_RNN_ALGO_STANDARD},
    {"persist_static", nvidia::CUDNN_RNN_ALGO_PERSIST_STATIC},
    {"persist_static_small_h", nvidia::CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H},
    {"persist_dynamic", nvidia::CUDNN_RNN_ALGO_PERSIST_DYNAMIC},
};

// Maps the gate numbers of rnn.hpp to those of cuDNN, which has gru's reset gate first.
int cudnn_gate_number(const Rnn& rnn, int64_t gate) {
  return rnn.cell == "gru" && gate < 2 ? int(1 - gate) : int(gate);
}

UniqueCudnn<nvidia::cudnnTensorDescriptor_t> tensor_descriptor() {
  nvidia::cudnnTensorDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateTensorDescriptor(&made));
  return UniqueCudnn<nvidia::cudnnTensorDescriptor_t>(made);
}

// The offsets do not depend on the address of the memory, so any address serves for the query.
WeightOffsets weight_offsets(const Rnn& rnn, const LayerDescriptors& descriptors,
                             const Stream& stream) {
  const Buffer anywhere(1);
  const auto matrix = tensor_descriptor(), vector = tensor_descriptor();
  const nvidia::cudnnHandle_t handle = cudnn_handle(stream);
  WeightOffsets offsets;
  size_t bytes = 0;
  CUDA_CHECK(cudnn().cudnnGetRNNWeightSpaceSize(handle, descriptors.layer(), &bytes));
  offsets.bytes = bytes;
  // The first half of the linear layers applies to the input, the second half to the recurrent
  // state.
  const auto offset_of = [&](int layer, bool is_bias) {
    void *weights = nullptr, *bias = nullptr;
    CUDA_CHECK(cudnn().cudnnGetRNNWeightParams(handle, descriptors.layer(), 0, bytes,
                                               anywhere.data(), layer, matrix.get(), &weights,
                                               vector.get(), &bias));
    const void* const found = is_bias ? bias : weights;
    if (!found) plugin::failed("cuDNN does not report the positions of the layer's weights");
    return uint64_t(static_cast<const std::byte*>(found) - anywhere.data());
  };
  const int gates = int(rnn.gates());
  for (int gate = 0; gate < gates; ++gate) {
    offsets.u.push_back(offset_of(gates + cudnn_gate_number(rnn, gate), /*is_bias=*/false));
    offsets.b.push_back(offset_of(cudnn_gate_number(rnn, gate), /*is_bias=*/true));
  }
  if (rnn.biases() > gates) offsets.b.push_back(offset_of(2 * gates - 1, /*is_bias=*/true));
  return offsets;
}

LayerQuery query_layer(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm, const Stream& stream) {
  LayerQuery query;
  const plugin::HostTimer timer;
  try {
    query.descriptors = std::make_shared<LayerDescriptors>(rnn, algorithm, stream);
    const auto mode =
        rnn.is_training() ? nvidia::CUDNN_FWD_MODE_TRAINING : nvidia::CUDNN_FWD_MODE_INFERENCE;
    CUDA_CHECK_STATUS(
        cudnnGetRNNTempSpaceSizes,
        cudnn().cudnnGetRNNTempSpaceSizes(cudnn_handle(stream), query.descriptors->layer(), mode,
                                          query.descriptors->sequence(), &query.workspace_bytes,
                                          &query.reserve_bytes));
    query.weights = weight_offsets(rnn, *query.descriptors, stream);
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    query.refusal = error.what();
  }
  query.planning_ns = timer.elapsed_ns();
  return query;
}

// Whether persist_dynamic, which compiles for seconds, has been faster than cuDNN's other
// algorithms for such a layer. In float it is for inference, if U about fits into the registers and
// the shared memory of the device; with larger layers it gained at most 7 % and compiled for 9 to
// 13 s. In half it was slower than another algorithm in all measured layers (docs/results/log).
bool repays_compilation(const Rnn& rnn, int device) {
  constexpr double kShareOfChip = 1.1;
  const DeviceFacts& facts = device_facts(device);
  const double chip_bytes =
      double(facts.multiprocessors) * double(facts.register_bytes + facts.shared_bytes);
  return rnn.is_forward() && !rnn.is_training() && rnn.precision.a == DEEPBENCH_F32 &&
         double(rnn.weights()) * sizeof(float) <= kShareOfChip * chip_bytes;
}

const NamedAlgorithm& algorithm_named(const std::string& name) {
  if (name.empty()) return kAlgorithms[0];
  for (const NamedAlgorithm& known : kAlgorithms)
    if (name == known.name) return known;
  reject_candidate("cudnn", name);
}

}  // namespace

LayerQueries::LayerQueries(const Rnn& rnn, const plugin::Options& options)
    : rnn_(rnn), stream_(Stream::of(options.device)) {
  require_layer(rnn, options);
}

const LayerQuery& LayerQueries::query(nvidia::cudnnRNNAlgo_t algorithm) {
  const auto known = answers_.find(algorithm);
  if (known != answers_.end()) return known->second;
  return answers_[algorithm] = query_layer(rnn_, algorithm, stream_);
}

// The reason why this algorithm does not support the layer, or an empty string. If cuDNN has no
// persistent kernels for a type, it silently uses its standard ones; an equal workspace size
// reveals that.
std::string LayerQueries::refusal(const std::string& name, nvidia::cudnnRNNAlgo_t algorithm) {
  const LayerQuery& answer = query(algorithm);
  if (!answer.refusal.empty())
    return "cuDNN's algorithm " + name + " does not support " + layer_text(rnn_) + ": " +
           answer.refusal;
  if (algorithm == nvidia::CUDNN_RNN_ALGO_STANDARD) return "";
  if (answer.workspace_bytes != query(nvidia::CUDNN_RNN_ALGO_STANDARD).workspace_bytes) return "";
  return "cuDNN has no " + name + " for " + layer_text(rnn_) +
         " and would use its standard algorithm instead";
}

LayerPlan LayerQueries::plan(const std::string& candidate) {
  const NamedAlgorithm& named = algorithm_named(candidate);
  if (const std::string reason = refusal(named.name, named.algorithm); !reason.empty())
    plugin::unsupported(reason);
  const LayerQuery& answer = query(named.algorithm);
  LayerPlan plan;
  plan.algorithm = named.name;
  plan.descriptors = answer.descriptors;
  plan.workspace_bytes = answer.workspace_bytes;
  plan.planning_ns = answer.planning_ns;
  plan.storage.rnn = rnn_;
  plan.storage.type = rnn_.precision.a;
  plan.storage.weights = answer.weights;
  plan.storage.reserve_bytes = answer.reserve_bytes;
  plan.storage.changes_reserve = true;
  return plan;
}

std::vector<std::string> LayerQueries::candidates(int64_t limit) {
  std::vector<std::string> names;
  for (const NamedAlgorithm& named : kAlgorithms) {
    if (rounds_partial_sums(rnn_, named.name)) continue;
    if (limit > 0 && named.algorithm == nvidia::CUDNN_RNN_ALGO_PERSIST_DYNAMIC &&
        !repays_compilation(rnn_, stream_.device()))
      continue;
    const auto reason = plan_if_supported([&] { return refusal(named.name, named.algorithm); });
    if (reason && reason->empty()) names.push_back(named.name);
  }
  return names;
}

bool rounds_partial_sums(const Rnn& rnn, const std::string& algorithm) {
  return rnn.cell != "lstm" && rnn.precision.a != DEEPBENCH_F32 &&
         algorithm.rfind("persist_static", 0) == 0;
}

}  // namespace deepbench::cuda::dnn
