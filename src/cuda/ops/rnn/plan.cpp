// Queries cuDNN about a layer, once for each layer and algorithm.
#include "ops/rnn/plan.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>

#include "buffer.hpp"
#include "cudnn/handle.hpp"
#include "cudnn/unique_descriptor.hpp"
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
constexpr size_t kMaxCachedQueries = 64;

// What cuDNN reports about a layer with one of its algorithms.
struct LayerQuery {
  // The call that does not support the layer, and why; if set, nothing else is.
  std::string refusal;
  std::shared_ptr<const LayerDescriptors> descriptors;
  size_t workspace_bytes = 0, reserve_bytes = 0;
  WeightOffsets weights;
  double planning_ns = 0;
};

// Maps the gate numbers of rnn.hpp to those of cuDNN, which has gru's reset gate first.
int linear_layer(const Rnn& rnn, int64_t gate) {
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
    offsets.u.push_back(offset_of(gates + linear_layer(rnn, gate), /*is_bias=*/false));
    offsets.b.push_back(offset_of(linear_layer(rnn, gate), /*is_bias=*/true));
  }
  if (rnn.biases() > gates) offsets.b.push_back(offset_of(2 * gates - 1, /*is_bias=*/true));
  return offsets;
}

LayerQuery query_layer(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm, const Stream& stream) {
  LayerQuery query;
  const auto begin = std::chrono::steady_clock::now();
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
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  query.planning_ns = took.count();
  return query;
}

// A row queries several times, and compilation takes seconds.
LayerQuery cached_query(const Rnn& rnn, const NamedAlgorithm& named, const Stream& stream) {
  static std::mutex mutex;
  // Never destroyed, because the library may be gone at exit.
  static auto* cache = new std::map<std::string, LayerQuery>();
  const std::lock_guard<std::mutex> lock(mutex);
  std::string key =
      rnn.cell + " " + rnn.mode + " " + std::string(rnn.precision.name) + " " + named.name;
  for (const int64_t number : {rnn.hidden, rnn.batch, rnn.timesteps, int64_t(stream.device())})
    key += " " + std::to_string(number);
  if (const auto found = cache->find(key); found != cache->end()) return found->second;
  if (cache->size() >= kMaxCachedQueries) cache->clear();
  return (*cache)[key] = query_layer(rnn, named.algorithm, stream);
}

// The reason why this algorithm does not support the layer, or an empty string. If cuDNN has no
// persistent kernels for a type, it silently uses its standard ones; an equal workspace size
// reveals that.
std::string refusal(const Rnn& rnn, const NamedAlgorithm& named, const LayerQuery& query,
                    const Stream& stream) {
  if (!query.refusal.empty())
    return "cuDNN's algorithm " + std::string(named.name) + " does not support " + layer_text(rnn) +
           ": " + query.refusal;
  if (named.algorithm == nvidia::CUDNN_RNN_ALGO_STANDARD) return "";
  const LayerQuery standard = cached_query(rnn, kAlgorithms[0], stream);
  if (query.workspace_bytes != standard.workspace_bytes) return "";
  return "cuDNN has no " + std::string(named.name) + " for " + layer_text(rnn) +
         " and would use its standard algorithm instead";
}

const NamedAlgorithm& algorithm_named(const std::string& name) {
  if (name.empty()) return kAlgorithms[0];
  for (const NamedAlgorithm& known : kAlgorithms)
    if (name == known.name) return known;
  reject_candidate("cudnn", name);
}

}  // namespace

LayerPlan plan_layer(const Rnn& rnn, const plugin::Options& options) {
  require_layer(rnn, options);
  const NamedAlgorithm& named = algorithm_named(options.candidate);
  const Stream& stream = Stream::of(options.device);
  const LayerQuery query = cached_query(rnn, named, stream);
  if (const std::string reason = refusal(rnn, named, query, stream); !reason.empty())
    plugin::unsupported(reason);
  LayerPlan plan;
  plan.algorithm = named.name;
  plan.descriptors = query.descriptors;
  plan.workspace_bytes = query.workspace_bytes;
  plan.planning_ns = query.planning_ns;
  plan.storage.rnn = rnn;
  plan.storage.type = rnn.precision.a;
  plan.storage.weights = query.weights;
  plan.storage.reserve_bytes = query.reserve_bytes;
  plan.storage.changes_reserve = true;
  return plan;
}

bool rounds_partial_sums(const Rnn& rnn, const std::string& algorithm) {
  return rnn.cell != "lstm" && rnn.precision.a != DEEPBENCH_F32 &&
         algorithm.rfind("persist_static", 0) == 0;
}

std::vector<std::string> layer_candidates(const Rnn& rnn, const plugin::Options& options) {
  require_layer(rnn, options);
  const Stream& stream = Stream::of(options.device);
  std::vector<std::string> names;
  for (const NamedAlgorithm& named : kAlgorithms) {
    if (rounds_partial_sums(rnn, named.name)) continue;
    if (options.limit > 0 && named.algorithm == nvidia::CUDNN_RNN_ALGO_PERSIST_DYNAMIC) continue;
    const auto reason =
        if_possible([&] { return refusal(rnn, named, cached_query(rnn, named, stream), stream); });
    if (reason && reason->empty()) names.push_back(named.name);
  }
  return names;
}

}  // namespace deepbench::cuda::dnn
