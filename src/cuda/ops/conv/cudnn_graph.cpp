// Describes convolutions to cuDNN.
#include "ops/conv/cudnn_graph.hpp"

#include <algorithm>

#include "cudnn/data_type.hpp"
#include "cudnn/graph_tensor.hpp"

namespace deepbench::cuda::dnn {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr size_t kMaxConfigs = 256, kMaxKnobs = 64, kMaxNotes = 32;

// The names of an operation's attributes.
struct Attributes {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, convolution, x, w, y;
};

constexpr Attributes kForward = {
    CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
};
constexpr Attributes kBackwardData = {
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
};
constexpr Attributes kBackwardFilter = {
    CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
};

const Attributes& attributes_of(ConvPhase phase) {
  return phase == ConvPhase::kForward        ? kForward
         : phase == ConvPhase::kBackwardData ? kBackwardData
                                             : kBackwardFilter;
}

CudnnDescriptor describe_tensor(const ConvTensor& tensor, int64_t id) {
  return GraphTensor{id, data_type(tensor.type), tensor.sizes, tensor.strides()}.describe();
}

CudnnDescriptor describe_convolution(const Conv& conv) {
  const auto spatial = [&](int64_t depth, int64_t height, int64_t width) {
    return conv.is_3d() ? std::vector<int64_t>{depth, height, width}
                        : std::vector<int64_t>{height, width};
  };
  const bool integers = conv.precision.precision == Precision::kInt8;
  CudnnDescriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  made.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(conv.is_3d() ? 3 : 2));
  made.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, integers ? CUDNN_DATA_INT32 : CUDNN_DATA_FLOAT);
  made.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
  made.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial(conv.pad_d, conv.pad_h, conv.pad_w));
  made.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial(conv.pad_d, conv.pad_h, conv.pad_w));
  made.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
           spatial(conv.stride_d, conv.stride_h, conv.stride_w));
  made.set(CUDNN_ATTR_CONVOLUTION_DILATIONS,
           spatial(conv.dilation_d, conv.dilation_h, conv.dilation_w));
  made.finalize();
  return made;
}

EngineNotes engine_notes(const CudnnDescriptor& engine) {
  EngineNotes notes;
  for (const auto note :
       engine.get_all<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, kMaxNotes)) {
    notes.tensor_core |= note == CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    notes.down_converts |= note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    notes.reduced_reduction |= note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
    notes.fft |= note == CUDNN_NUMERICAL_NOTE_FFT;
    notes.nondeterministic |= note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
    notes.winograd |= note == CUDNN_NUMERICAL_NOTE_WINOGRAD;
  }
  for (const auto note :
       engine.get_all<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, kMaxNotes)) {
    notes.compiles |= note == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
    notes.reorders_filter |= note == CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER;
  }
  return notes;
}

EngineConfig read_config(const CudnnDescriptor& config) {
  EngineConfig read;
  const auto engines =
      config.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  if (engines.empty()) return read;
  read.engine.index = engines[0].number(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  read.notes = engine_notes(engines[0]);
  for (const CudnnDescriptor& knob : config.descriptors(
           CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, kMaxKnobs)) {
    const auto types = knob.get_all<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, 1);
    if (!types.empty())
      read.engine.knobs.emplace_back(types[0], knob.number(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return read;
}

// Returns nothing if the library does not know the knob or the choice.
std::optional<CudnnDescriptor> choose_knob(int64_t type, int64_t choice) {
  CudnnDescriptor made(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  try {
    made.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, cudnnBackendKnobType_t(type));
    made.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, choice);
  } catch (const plugin::Error&) {
    return {};
  }
  if (made.try_finalize() != CUDNN_STATUS_SUCCESS) return {};
  return made;
}

}  // namespace

Operation::Operation(const ConvLayout& layout)
    : x_(describe_tensor(layout.x, kX)),
      w_(describe_tensor(layout.w, kW)),
      y_(describe_tensor(layout.y, kY)),
      convolution_(describe_convolution(layout.executed)) {
  const Attributes& names = attributes_of(layout.executed.phase);
  operation_ = CudnnDescriptor(names.type);
  operation_.set(names.alpha, float(layout.executed.output_scale()));
  operation_.set(names.beta, 0.0f);
  operation_.set(names.convolution, convolution_);
  operation_.set(names.x, x_);
  operation_.set(names.w, w_);
  operation_.set(names.y, y_);
  operation_.finalize();
}

OperationGraph::OperationGraph(const ConvLayout& layout, cudnnHandle_t handle)
    : operation_(layout), graph_(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation_.descriptor());
  graph_.finalize();
}

std::vector<EngineConfig> OperationGraph::heuristics(cudnnBackendHeurMode_t mode) const {
  CudnnDescriptor query(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  query.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
  query.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  const cudnnStatus_t status = query.try_finalize();
  if (is_cudnn_refusal(status)) return {};
  CUDA_CHECK_STATUS(cudnnBackendFinalize, status);
  std::vector<EngineConfig> configs;
  for (const CudnnDescriptor& config : query.descriptors(
           CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMaxConfigs))
    configs.push_back(read_config(config));
  return configs;
}

int64_t OperationGraph::engine_count() const {
  return graph_.number(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
}

std::optional<ConfigDescriptor> OperationGraph::config(const Engine& engine) const {
  ConfigDescriptor made;
  made.engine = CudnnDescriptor(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  made.engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_);
  made.engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, engine.index);
  if (made.engine.try_finalize() != CUDNN_STATUS_SUCCESS) return {};
  made.notes = engine_notes(made.engine);
  made.config = CudnnDescriptor(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  made.config.set(CUDNN_ATTR_ENGINECFG_ENGINE, made.engine);
  for (const auto& [type, choice] : engine.knobs) {
    auto knob = choose_knob(type, choice);
    if (!knob) return {};
    made.knobs.push_back(std::move(*knob));
  }
  if (!made.knobs.empty()) made.config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, made.knobs);
  if (made.config.try_finalize() != CUDNN_STATUS_SUCCESS) return {};
  return made;
}

}  // namespace deepbench::cuda::dnn
