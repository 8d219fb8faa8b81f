// Asking cuDNN what it can do with a layer, once for each layer and algorithm.
#include "ops/rnn/plan.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>

#include "buffer.hpp"
#include "check.hpp"
#include "cudnn/handle.hpp"
#include "cudnn/owned.hpp"
#include "ops/rnn/layer_checks.hpp"
#include "prepared_kernel.hpp"

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
constexpr size_t kMostKnown = 64;

// What cuDNN says of a layer with one of its algorithms.
struct Answer {
  std::string refusal;  // which call does not support it, and why; nothing else then
  std::shared_ptr<const LayerDescriptors> descriptors;
  size_t workspace_bytes = 0, reserve_bytes = 0;
  WeightPlaces weights;
  double planning_ns = 0;
};

// cuDNN's numbers of the layer's gates, in ours: it has gru's reset gate first.
int linear_layer(const Rnn& rnn, int64_t gate) {
  return rnn.cell == "gru" && gate < 2 ? int(1 - gate) : int(gate);
}

CudnnOwned<nvidia::cudnnTensorDescriptor_t> tensor_descriptor() {
  nvidia::cudnnTensorDescriptor_t made = nullptr;
  CUDA_CHECK(cudnn().cudnnCreateTensorDescriptor(&made));
  return CudnnOwned<nvidia::cudnnTensorDescriptor_t>(made);
}

// The places depend on no memory: they are asked for beginning anywhere.
WeightPlaces weight_places(const Rnn& rnn, const LayerDescriptors& descriptors,
                           const Stream& stream) {
  const Buffer anywhere(1);
  const auto matrix = tensor_descriptor(), vector = tensor_descriptor();
  const nvidia::cudnnHandle_t handle = cudnn_handle(stream);
  WeightPlaces places;
  size_t bytes = 0;
  CUDA_CHECK(cudnn().cudnnGetRNNWeightSpaceSize(handle, descriptors.layer(), &bytes));
  places.bytes = bytes;
  // The first half of the linear layers takes the input, the second what was handed on.
  const auto ask = [&](int layer, bool is_bias) {
    void *weights = nullptr, *bias = nullptr;
    CUDA_CHECK(cudnn().cudnnGetRNNWeightParams(handle, descriptors.layer(), 0, bytes,
                                               anywhere.data(), layer, matrix.get(), &weights,
                                               vector.get(), &bias));
    const void* const found = is_bias ? bias : weights;
    if (!found) plugin::failed("cuDNN does not say where it has the layer's weights");
    return uint64_t(static_cast<const std::byte*>(found) - anywhere.data());
  };
  const int gates = int(rnn.gates());
  for (int gate = 0; gate < gates; ++gate) {
    places.u.push_back(ask(gates + linear_layer(rnn, gate), /*is_bias=*/false));
    places.b.push_back(ask(linear_layer(rnn, gate), /*is_bias=*/true));
  }
  if (rnn.biases() > gates) places.b.push_back(ask(2 * gates - 1, /*is_bias=*/true));
  return places;
}

Answer ask(const Rnn& rnn, nvidia::cudnnRNNAlgo_t algorithm, const Stream& stream) {
  Answer answer;
  const auto begin = std::chrono::steady_clock::now();
  try {
    answer.descriptors = std::make_shared<LayerDescriptors>(rnn, algorithm, stream);
    const auto mode =
        rnn.is_training() ? nvidia::CUDNN_FWD_MODE_TRAINING : nvidia::CUDNN_FWD_MODE_INFERENCE;
    CUDA_CHECK_STATUS(
        cudnnGetRNNTempSpaceSizes,
        cudnn().cudnnGetRNNTempSpaceSizes(cudnn_handle(stream), answer.descriptors->layer(), mode,
                                          answer.descriptors->sequence(), &answer.workspace_bytes,
                                          &answer.reserve_bytes));
    answer.weights = weight_places(rnn, *answer.descriptors, stream);
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    answer.refusal = error.what();
  }
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  answer.planning_ns = took.count();
  return answer;
}

// A row asks several times, and compiling takes seconds.
Answer known_answer(const Rnn& rnn, const NamedAlgorithm& named, const Stream& stream) {
  static std::mutex mutex;
  static auto* known = new std::map<std::string, Answer>();  // outlives the library
  const std::lock_guard<std::mutex> lock(mutex);
  std::string key =
      rnn.cell + " " + rnn.mode + " " + std::string(rnn.precision.name) + " " + named.name;
  for (const int64_t number : {rnn.hidden, rnn.batch, rnn.timesteps, int64_t(stream.device())})
    key += " " + std::to_string(number);
  if (const auto at = known->find(key); at != known->end()) return at->second;
  if (known->size() >= kMostKnown) known->clear();
  return (*known)[key] = ask(rnn, named.algorithm, stream);
}

// Why this algorithm does not do the layer; empty if it does. Where cuDNN has no persistent kernels
// of a type, it takes its standard ones without a word: the workspace tells.
std::string refusal(const Rnn& rnn, const NamedAlgorithm& named, const Answer& answer,
                    const Stream& stream) {
  if (!answer.refusal.empty())
    return "cuDNN's algorithm " + std::string(named.name) + " cannot do " + layer_text(rnn) + ": " +
           answer.refusal;
  if (named.algorithm == nvidia::CUDNN_RNN_ALGO_STANDARD) return "";
  const Answer standard = known_answer(rnn, kAlgorithms[0], stream);
  if (answer.workspace_bytes != standard.workspace_bytes) return "";
  return "cuDNN has no " + std::string(named.name) + " for " + layer_text(rnn) +
         " and would take its standard algorithm";
}

const NamedAlgorithm& algorithm_named(const std::string& name) {
  if (name.empty()) return kAlgorithms[0];
  for (const NamedAlgorithm& known : kAlgorithms)
    if (name == known.name) return known;
  unknown_candidate("cudnn", name);
}

}  // namespace

LayerPlan plan_layer(const Rnn& rnn, const plugin::Options& options) {
  require_layer(rnn, options);
  const NamedAlgorithm& named = algorithm_named(options.candidate);
  const Stream& stream = Stream::of(options.device);
  const Answer answer = known_answer(rnn, named, stream);
  if (const std::string reason = refusal(rnn, named, answer, stream); !reason.empty())
    plugin::unsupported(reason);
  LayerPlan plan;
  plan.algorithm = named.name;
  plan.descriptors = answer.descriptors;
  plan.workspace_bytes = answer.workspace_bytes;
  plan.planning_ns = answer.planning_ns;
  plan.storage.rnn = rnn;
  plan.storage.type = rnn.precision.a;
  plan.storage.weights = answer.weights;
  plan.storage.reserve_bytes = answer.reserve_bytes;
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
        if_possible([&] { return refusal(rnn, named, known_answer(rnn, named, stream), stream); });
    if (reason && reason->empty()) names.push_back(named.name);
  }
  return names;
}

}  // namespace deepbench::cuda::dnn
